"""Test the documents: links, anchors and names in them exist, every page is listed, and the README is short."""

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

from tests.unit.test_project import module_names

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
    """Return the text of a document without its code blocks."""
    return FENCE.sub("", (ROOT / name).read_text())


@cache
def anchors(name: str) -> set[str]:
    """The anchors that forges and generators give to the headings of a document."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in HEADING.findall(prose(name))
    }


def links(name: str) -> list[str]:
    return [link for link in LINK.findall(prose(name)) if not re.match(r"https?:", link)]


def link_target(name: str, link: str) -> str:
    path = (ROOT / name).parent / link.partition("#")[0] if not link.startswith("#") else ROOT / name
    return str(path.resolve().relative_to(ROOT))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_anchors_commands_and_make_targets_in_a_document_exist(name: str) -> None:
    for link in links(name):
        assert (ROOT / link_target(name, link)).exists(), f"{name}: {link}"
        anchor = link.partition("#")[2]
        assert not anchor or anchor in anchors(link_target(name, link)), f"{name}: {link}"
    named_commands = set(re.findall(r"`(?:python -m )?reprise ([a-z]+)[ `]", prose(name)))
    assert named_commands <= COMMANDS, f"{name}: {sorted(named_commands - COMMANDS)}"
    named_targets = set(re.findall(r"`make ([a-z-]+)`", prose(name)))
    assert named_targets <= TARGETS, f"{name}: {sorted(named_targets - TARGETS)}"


def test_every_page_is_linked_from_the_index_and_listed_in_the_site() -> None:
    linked_documents = {"docs/index.md"} | {link_target("docs/index.md", link) for link in links("docs/index.md")}
    assert linked_documents & set(PAGES) == set(PAGES)
    nav = re.findall(r"- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(f"docs/{page}" for page in nav) == sorted(PAGES)


def test_no_page_of_the_site_links_outside_it() -> None:
    outside_links = [
        (page, link) for page in PAGES for link in links(page) if not link_target(page, link).startswith("docs/")
    ]
    assert outside_links == []


def test_the_readme_is_short_and_its_pictures_are_small() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= README_BYTES
    pictures = [ROOT / link for link in links("README.md") if link.startswith("docs/images/")]
    assert len(pictures) == 3 and all(picture.stat().st_size <= PICTURE_BYTES for picture in pictures)


def test_the_guide_to_temporal_profiles_is_short() -> None:
    assert len((ROOT / "docs/howto/temporal-profile.md").read_text().split()) <= 700


def test_the_readme_states_the_current_row_counts() -> None:
    counts = {kind: counter.total() for kind, counter in write_rows.kinds(load(ROOT, {"suite": "paper"})).items()}
    runnable = {kind.gpus: count for kind, count in counts.items() if kind.gpus}
    text = (ROOT / "README.md").read_text()
    (paragraph,) = re.findall(r"^\[Of the papers' rows\].*?\n\n", text, re.MULTILINE | re.DOTALL)
    stated_counts = [int(number) for number in re.findall(r"\b\d+(?= (?:have|on|come|are)\b)", paragraph)]
    runnable_total, one_gpu = sum(runnable.values()), runnable[1]
    imported = [counts[write_rows.FILES], counts[write_rows.SOME_FILES]]
    without_model = counts[write_rows.DATA] + counts[write_rows.CHANCE]
    assert stated_counts == [runnable_total, one_gpu, runnable_total - one_gpu, *imported, without_model]


PAPERS = ("velociti", "vinoground", "temporalbench", "mmbench_video")
PAPER_PAGES = [ROOT / f"docs/papers/{name}.md" for name in PAPERS]
SUITES = ("paper", "construction")
TABLE_HEAD = re.compile(r"\| what the paper (says|shows) \| section \| where \|")
CODE_SPAN = re.compile(r"`([^`]+)`")


def table_rows(page: Path) -> list[list[str]]:
    """Return the cells of each row of the page's tables, without heads and rules."""
    lines = [line for line in page.read_text().splitlines() if line.startswith("|") and not TABLE_HEAD.fullmatch(line)]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in lines if set(row) - set("|-: ")]


def named_places(page: Path) -> Iterator[str]:
    """Yield the files, keys, targets and names that the last column of a page's tables names."""
    for cells in table_rows(page):
        yield from CODE_SPAN.findall(cells[-1])


@cache
def plans() -> list[Plan]:
    return [Plan(load(ROOT, {"suite": suite})) for suite in SUITES]


def find_problem(place: str) -> str:
    """Return what is wrong with a target, a file, a key of a file or a name in a module; empty if it exists."""
    if place.startswith("results/"):
        return _find_target_problem(place)
    file, _, key = place.partition(":")
    if "/" not in file:
        return "" if file in _list_names() else f"'{place}' is no setting, protocol, sampling, metric or group"
    path = ROOT / file
    if not path.exists():
        return f"no {file}"
    content = path.read_text() if key else ""
    if (path.suffix == ".yaml" and not _has_key(yaml.safe_load(content), key)) or (
        path.suffix == ".py" and key and key not in module_names(path)
    ):
        return f"{file} has no {key}"
    return ""


def _find_target_problem(target: str) -> str:
    messages = []
    for plan in plans():
        try:
            check_targets(plan, [target])
        except UserError as error:
            messages.append(str(error))
    return messages[0] if len(messages) == len(plans()) else ""


def _has_key(content: Any, key: str) -> bool:
    """Return whether a mapping has a dotted key; names may contain dots."""
    if not key:
        return True
    if not isinstance(content, dict):
        return False
    first_names = [name for name in map(str, content) if key == name or key.startswith(f"{name}.")]
    return any(_has_key(content[name], key[len(name) + 1 :]) for name in first_names)


@cache
def _list_names() -> frozenset[str]:
    """Return the names of settings, protocols, samplings, models, metrics and filters."""
    settings = set(CODE_SPAN.findall((ROOT / "docs/reference/config.md").read_text()))
    config = plans()[0].config
    protocols = {name for benchmark in config.benchmarks.values() for name in benchmark.protocols}
    scores = [form for name in config.benchmarks for form in load_scores(name).SCORES.values()]
    metrics = {metric for form in scores for metric in form.metrics}
    filters = CODE_SPAN.findall((ROOT / "docs/construction.md").read_text())
    return frozenset({*settings, *protocols, *config.main.samplings, *config.models, *metrics, *filters})


@pytest.mark.parametrize("page", PAPER_PAGES, ids=lambda page: page.stem)
def test_every_place_that_a_page_names_exists(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    problems = {place: problem for place in named_places(page) if (problem := find_problem(place))}
    assert not problems, "\n".join(f"{page.name}: `{place}`: {problem}" for place, problem in problems.items())


@pytest.mark.parametrize("page", PAPER_PAGES, ids=lambda page: page.stem)
def test_every_table_row_has_a_section_and_a_place_or_a_reason(page: Path) -> None:
    rows = table_rows(page)
    assert len(rows) > 30 and all(len(cells) == 3 for cells in rows), [cells for cells in rows if len(cells) != 3]
    for _, section, place in rows:
        assert re.search(r"`|\]\(|not here|not printed", place), place
        assert section or place.startswith("not here"), place


@pytest.mark.parametrize("page", PAPER_PAGES, ids=lambda page: page.stem)
def test_every_table_and_figure_of_the_suite_is_named(page: Path) -> None:
    """Each table and figure therefore supports a statement of the paper or is an analysis of our own."""
    config = plans()[0].config
    drawn = {*config.tables[page.stem].tables, *config.figures[page.stem].figures}
    named = {name for place in named_places(page) for name in re.findall(r"\b(?:table|fig)\d+\b", place)}
    assert not {name for name in drawn if not name.startswith("own_")} - named
