"""The papers' numbers as typed in: shape, ranges, spot values typed again from the papers' text, recomputed averages.

What is damaged, left out or contradictory is told in the note beside each csv; the exceptions below are named there.
"""

import csv
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PUBLISHED, DATA = Path("resources/published"), Path("tests/data")
COLUMNS = ["paper", "table", "row", "frames", "group", "metric", "value"]
PAPERS = ["velociti", "vinoground", "temporalbench", "mmbench_video"]

COUNTED = {"videos", "samples", "subset", "pairs", "questions", "capabilities"}
# metric: lowest and highest value; every other metric that is no count is a percentage
RANGES = {"mc_bias": (-100, 100), "mean": (0, 3), "mae": (0, 3), "original_score": (0, 5), "duration_s_mean": (0, 360)}

TESTS = ["agent_random", "agent_bind", "coref", "action_adv", "action_manner", "action_bind", "chrono"]


class Number(NamedTuple):
    table: str
    row: str
    frames: str
    group: str
    metric: str
    value: str


@cache
def read(paper: str) -> list[Number]:
    with (PUBLISHED / f"{paper}.csv").open(encoding="utf-8", newline="") as stream:
        return [Number(*line[1:]) for line in list(csv.reader(stream))[1:]]


def data(name: str) -> list[dict[str, str]]:
    with (DATA / f"published_{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def exceptions(check: str) -> set[str]:
    """What of the papers contradicts itself, as the notes beside the csvs tell."""
    return {one["what"] for one in data("exceptions") if one["check"] == check}


def rows_of(paper: str, table: str) -> dict[tuple[str, str, str], dict[str, float]]:
    """(row, frames, metric) to group to value."""
    rows: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    for number in read(paper):
        if number.table == table:
            rows[number.row, number.frames, number.metric][number.group] = float(number.value)
    return rows


@pytest.mark.parametrize("paper", PAPERS)
def test_every_line_is_a_plain_number_of_known_slugs_within_its_range(paper: str) -> None:
    raw = (PUBLISHED / f"{paper}.csv").read_bytes()
    assert raw.endswith(b"\n") and b"\r" not in raw and (PUBLISHED / f"{paper}.md").is_file()
    lines = list(csv.reader(raw.decode("utf-8").splitlines()))
    assert lines[0] == COLUMNS and {line[0] for line in lines[1:]} == {paper}
    assert all(cell == cell.strip() for line in lines for cell in line)
    numbers, slugs = read(paper), {one["kind"]: one["slugs"].split() for one in data("slugs") if one["paper"] == paper}
    assert {number.metric for number in numbers} == set(slugs["metric"]), "all of the known ones are used"
    assert {number.group for number in numbers} == set(slugs["group"])
    assert len({number[:5] for number in numbers}) == len(numbers), "no number is there twice"
    for number in numbers:
        assert number.row and re.fullmatch(r"-?\d+(\.\d+)?", number.value), number
        value, (low, high) = float(number.value), RANGES.get(number.metric, (0.0, 100.0))
        assert value == int(value) > 0 if number.metric in COUNTED else low <= value <= high, number


def test_spot_values() -> None:
    """Typed again from the papers' text, some of every table; and its rows and numbers, counted by hand in the papers.

    Vinoground's Table 7 has lost its model names; five rows are, number for number, rows that have a name elsewhere.
    """
    spots, counts = data("spots"), data("counts")
    for spot in spots:
        row = rows_of(spot["paper"], spot["table"])[spot["row"], spot["frames"], spot["metric"]]
        assert row[spot["group"]] == float(spot["value"]), spot
    assert {(spot["paper"], spot["table"]) for spot in spots} == {(one["paper"], one["table"]) for one in counts}
    found = []
    for paper in PAPERS:
        for table in dict.fromkeys(number.table for number in read(paper)):
            numbers = [number for number in read(paper) if number.table == table]
            # The rows of MMBench-Video's Table 2 are scores, its columns benchmarks at 1 and 8 frames.
            rows = {(number.row, number.frames) for number in numbers}
            found.append({"paper": paper, "table": table, "rows": str(len(rows)), "numbers": str(len(numbers))})
    assert found == counts


def test_velociti_averages_are_means_of_the_seven_tests() -> None:
    table5, off = rows_of("velociti", "table5"), set()
    for table in ("table2", "table4", "table6", "table7", "table8", "table9", "table10"):
        for (row, frames, metric), values in rows_of("velociti", table).items():
            average = values["average"] if table != "table10" else table5[row, frames, metric]["average"]
            if abs(sum(values[test] for test in TESTS) / len(TESTS) - average) > 0.0501:
                off.add(f"{table} {row} {metric}")
    assert off == exceptions("velociti averages")
