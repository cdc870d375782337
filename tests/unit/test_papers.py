"""The pages "what the paper says and where it is": every file, key, name and target that they name is there."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from reprise.benchmarks.registry import load_scores
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.plan.runs import Plan
from reprise.plan.targets import check_targets

from tests.unit.test_architecture import defined

ROOT = Path(__file__).parents[2]
PAPERS = ("velociti", "vinoground", "temporalbench", "mmbench_video")
PAGES = [ROOT / f"docs/papers/{name}.md" for name in PAPERS]
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_place_that_it_names_is_there(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    wrong = {place: said for place in places(page) if (said := problem(place))}
    assert not wrong, "\n".join(f"{page.name}: `{place}`: {said}" for place, said in wrong.items())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_line_has_a_section_and_a_place_or_a_reason(page: Path) -> None:
    found = lines(page)
    assert len(found) > 30 and all(len(cells) == 3 for cells in found), [cells for cells in found if len(cells) != 3]
    for _, section, where in found:
        assert re.search(r"`|\]\(|not here|not printed", where), where
        assert section or where.startswith("not here"), where


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_table_and_figure_of_the_suite_is_named(page: Path) -> None:
    """And so nothing is drawn that no sentence of the paper, and no analysis of ours, stands behind."""
    config = plans()[0].config
    shown = {*config.tables[page.stem].tables, *config.figures[page.stem].figures}
    named = {name for place in places(page) for name in re.findall(r"\b(?:table|fig)\d+\b", place)}
    assert not {name for name in shown if not name.startswith("own_")} - named
