"""The documents: their links and anchors exist, their pages are found, what they name is there, and the README is short."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import write_rows
import yaml
from reprise.__main__ import app
from reprise.benchmarks.registry import load_scores
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.plan.runs import Plan
from reprise.plan.targets import check_targets
from typer.main import get_command

from tests.unit.test_project import defined

ROOT = Path(__file__).parents[2]
PATTERNS = ("*.md", "config/*.md", "docs/**/*.md", "resources/*/*.md", "tests/data/**/*.md")
DOCUMENTS = [str(path.relative_to(ROOT)) for pattern in PATTERNS for path in sorted(ROOT.glob(pattern))]
PAGES = [name for name in DOCUMENTS if name.startswith("docs/")]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
COMMANDS = set(get_command(app).commands)  # type: ignore[attr-defined]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
README_BYTES, PICTURE_BYTES = 5_000, 300_000


@cache
def prose(name: str) -> str:
    """A document without what it shows as typed or printed."""
    return FENCE.sub("", (ROOT / name).read_text())


@cache
def anchors(name: str) -> set[str]:
    """The anchors that forges and generators give to the headings of a document."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in HEADING.findall(prose(name))
    }


def links(name: str) -> list[str]:
    return [link for link in LINK.findall(prose(name)) if not re.match(r"https?:", link)]


def target(name: str, link: str) -> str:
    path = (ROOT / name).parent / link.partition("#")[0] if not link.startswith("#") else ROOT / name
    return str(path.resolve().relative_to(ROOT))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_anchors_commands_and_targets_that_it_names_exist(name: str) -> None:
    for link in links(name):
        assert (ROOT / target(name, link)).exists(), f"{name}: {link}"
        anchor = link.partition("#")[2]
        assert not anchor or anchor in anchors(target(name, link)), f"{name}: {link}"
    named = set(re.findall(r"`(?:python -m )?reprise ([a-z]+)[ `]", prose(name)))
    assert named <= COMMANDS, f"{name}: {sorted(named - COMMANDS)}"
    made = set(re.findall(r"`make ([a-z-]+)`", prose(name)))
    assert made <= TARGETS, f"{name}: {sorted(made - TARGETS)}"


def test_every_page_is_reached_from_the_index_and_listed_in_the_site() -> None:
    reached = {"docs/index.md"} | {target("docs/index.md", link) for link in links("docs/index.md")}
    assert reached & set(PAGES) == set(PAGES)
    nav = re.findall(r"- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(f"docs/{page}" for page in nav) == sorted(PAGES)


def test_no_page_of_the_site_links_outside_it() -> None:
    outside = [(page, link) for page in PAGES for link in links(page) if not target(page, link).startswith("docs/")]
    assert outside == []


def test_the_readme_is_short_and_its_pictures_are_small() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= README_BYTES
    pictures = [ROOT / link for link in links("README.md") if link.startswith("docs/images/")]
    assert len(pictures) == 3 and all(picture.stat().st_size <= PICTURE_BYTES for picture in pictures)


def test_the_readme_counts_the_rows_as_they_are() -> None:
    counts = {kind: found.total() for kind, found in write_rows.kinds(load(ROOT, {"suite": "paper"})).items()}
    here = {kind.gpus: number for kind, number in counts.items() if kind.gpus}
    text = (ROOT / "README.md").read_text()
    (told,) = re.findall(r"^\[Of the papers' rows\].*?\n\n", text, re.MULTILINE | re.DOTALL)
    shown = [int(number) for number in re.findall(r"\b\d+(?= (?:have|on|come|are)\b)", told)]
    of_all, known = sum(here.values()), counts[write_rows.DATA] + counts[write_rows.CHANCE]
    assert shown == [of_all, here[1], of_all - here[1], counts[write_rows.FILES], counts[write_rows.SOME_FILES], known]


PAPERS = ("velociti", "vinoground", "temporalbench", "mmbench_video")
OF_PAPERS = [ROOT / f"docs/papers/{name}.md" for name in PAPERS]
SUITES = ("paper", "construction")
HEAD = re.compile(r"\| what the paper (says|shows) \| section \| where \|")
SPAN = re.compile(r"`([^`]+)`")


def lines(page: Path) -> list[list[str]]:
    """The cells of each line of its tables, but for heads and rules."""
    rows = [line for line in page.read_text().splitlines() if line.startswith("|") and not HEAD.fullmatch(line)]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if set(row) - set("|-: ")]


def places(page: Path) -> Iterator[str]:
    for cells in lines(page):
        yield from SPAN.findall(cells[-1])


@cache
def plans() -> list[Plan]:
    return [Plan(load(ROOT, {"suite": suite})) for suite in SUITES]


def problem(place: str) -> str:
    """What is wrong with a target, a file, a key of a file or a name in its code; nothing where it is there."""
    if place.startswith("results/"):
        return _target_problem(place)
    file, _, key = place.partition(":")
    if "/" not in file:
        return "" if file in _names() else f"'{place}' is no setting, protocol, sampling, metric or group"
    path = ROOT / file
    if not path.exists():
        return f"no {file}"
    content = path.read_text() if key else ""
    if (path.suffix == ".yaml" and not _has_key(yaml.safe_load(content), key)) or (
        path.suffix == ".py" and key and key not in defined(path)
    ):
        return f"{file} has no {key}"
    return ""


def _target_problem(target: str) -> str:
    said = []
    for plan in plans():
        try:
            check_targets(plan, [target])
        except UserError as error:
            said.append(str(error))
    return said[0] if len(said) == len(plans()) else ""


def _has_key(content: Any, key: str) -> bool:
    """Whether a mapping has a dotted key; names may have dots themselves."""
    if not key:
        return True
    if not isinstance(content, dict):
        return False
    heads = [name for name in map(str, content) if key == name or key.startswith(f"{name}.")]
    return any(_has_key(content[name], key[len(name) + 1 :]) for name in heads)


@cache
def _names() -> frozenset[str]:
    """Settings, and what the configuration names."""
    settings = set(SPAN.findall((ROOT / "docs/reference/config.md").read_text()))
    config = plans()[0].config
    protocols = {name for benchmark in config.benchmarks.values() for name in benchmark.protocols}
    scores = [form for name in config.benchmarks for form in load_scores(name).SCORES.values()]
    metrics = {metric for form in scores for metric in form.metrics}
    filters = SPAN.findall((ROOT / "docs/construction.md").read_text())
    return frozenset({*settings, *protocols, *config.main.samplings, *config.models, *metrics, *filters})


@pytest.mark.parametrize("page", OF_PAPERS, ids=lambda page: page.stem)
def test_every_place_that_it_names_is_there(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    wrong = {place: said for place in places(page) if (said := problem(place))}
    assert not wrong, "\n".join(f"{page.name}: `{place}`: {said}" for place, said in wrong.items())


@pytest.mark.parametrize("page", OF_PAPERS, ids=lambda page: page.stem)
def test_every_line_has_a_section_and_a_place_or_a_reason(page: Path) -> None:
    found = lines(page)
    assert len(found) > 30 and all(len(cells) == 3 for cells in found), [cells for cells in found if len(cells) != 3]
    for _, section, where in found:
        assert re.search(r"`|\]\(|not here|not printed", where), where
        assert section or where.startswith("not here"), where


@pytest.mark.parametrize("page", OF_PAPERS, ids=lambda page: page.stem)
def test_every_table_and_figure_of_the_suite_is_named(page: Path) -> None:
    """And so nothing is drawn that no sentence of the paper, and no analysis of ours, stands behind."""
    config = plans()[0].config
    shown = {*config.tables[page.stem].tables, *config.figures[page.stem].figures}
    named = {name for place in places(page) for name in re.findall(r"\b(?:table|fig)\d+\b", place)}
    assert not {name for name in shown if not name.startswith("own_")} - named
