"""Test that a number of the demo is the same wherever it is shown. Run it after `make demo`, as CI does.

The places are tables in every format, pages of the report with their links to items, temporal profiles, the data of the
item browser, and the output of commands.
"""

import csv
import html
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import pytest
from reprise.core.notation import MINUS, format_interval, format_value

ROOT = Path(__file__).parents[2]
REPORT, TABLES, TEMPORAL = ROOT / "results/report", ROOT / "results/tables", ROOT / "results/temporal"
NUMBER = re.compile(rf"[+{MINUS}-]?\d+\.\d+")
ITEMS_LINK = re.compile(
    r'<a href="[./]*items\.html#(?P<state>[^"]*)">(?P<text>[^<]*)</a>(?=(?P<rest>.{0,80}))', re.DOTALL
)
INTERVAL = re.compile(rf"^(?:</[a-z]+>|<[a-z]+(?: class=\"[a-z]+\")?>|\s)*(\[[{MINUS}\d.]+, [{MINUS}\d.]+\])")
RUN_ROW = re.compile(  # a run's score with a link to its items, its interval and its chance level
    r'<a href="[./]*items\.html#(?P<state>[^"]*)">(?P<score>[^<]*)</a></td>\s*<td>(?P<interval>\[[^<]*\])?</td>\s*'
    r'<td class="right chance">(?P<chance>[^<]*?) *<'
)
DIFFERENCE = re.compile(
    rf"([+{MINUS}]?[\d.]+) points, 95 % interval \[([{MINUS}\d.]+), ([{MINUS}\d.]+)\], p [=<] ([\d.]+\d)"
)


class Score(NamedTuple):
    value: float
    low: float | None
    high: float | None


def parse_score(row: Mapping[str, str]) -> Score:
    value, low, high = (float(row[name]) if row[name] else None for name in ("value", "low", "high"))
    assert value is not None
    return Score(value, low, high)


@cache
def read_scores() -> dict[tuple[str, str, str], Score]:
    """Return (run with its judge, metric, group) -> score, from the csv of all tables."""
    scores: dict[tuple[str, str, str], Score] = {}
    for path in sorted(TABLES.rglob("*.csv")):
        with path.open(encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                if row.get("source") not in ("reproduced", "imported") or row["convention"] != "fixed":
                    continue
                if not row["value"] or row["metric"].startswith("seconds"):
                    continue
                run = "/".join(filter(None, (row["run"], row["judge"])))
                score = scores.setdefault((run, row["metric"], row["group"]), parse_score(row))
                assert score == parse_score(row), f"{path}: {row}"
    return scores


def read_profiles() -> list[dict[str, Any]]:
    profiles = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(TEMPORAL.glob("*.json"))]
    assert profiles
    return profiles


def read_data(name: str) -> Any:
    """Return a value of the item browser's data."""
    text = (REPORT / f"data/{name}.js").read_text(encoding="utf-8")
    return json.loads(text[text.index(", ") + 2 : text.rindex(")")])


def strip_tags(page: str) -> str:
    page = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", page))


def decimals_of(text: str) -> int:
    return len(text.partition(".")[2])


def find_links() -> Iterator[tuple[Path, dict[str, str], str, str]]:
    """Yield each link of a page to items: the page, the browser's state, the text, and the text after the link."""
    for path in sorted(REPORT.rglob("*.html")):
        for match in ITEMS_LINK.finditer(path.read_text(encoding="utf-8")):
            state = dict(parse_qsl(html.unescape(match["state"])))
            yield path.relative_to(REPORT), state, html.unescape(match["text"]), match["rest"]


def test_pages_show_the_numbers_and_intervals_of_the_tables() -> None:
    scores, checked_pages = read_scores(), Counter[str]()
    for page, state, text, rest in find_links():
        score = scores.get((state.get("run", ""), state.get("metric", ""), state.get("group", "")))
        if page.parts[0] == "models":
            continue  # Its links have scores per question, which the test of profiles checks.
        if score is None or state.get("show") or state.get("other") or not NUMBER.fullmatch(text):
            continue
        decimals = decimals_of(text)
        assert text.lstrip("+") == format_value(score.value, decimals), (page, state)
        if (interval := INTERVAL.match(rest)) is not None:
            assert interval[1] == format_interval(score.low, score.high, decimals), (page, state)
            checked_pages["intervals"] += 1
        checked_pages[page.parts[0]] += 1
    assert all(checked_pages[name] > 8 for name in ("tables", "runs", "index.html", "leaderboard.html", "intervals"))


def test_a_table_has_the_same_numbers_in_every_format() -> None:
    for path in sorted(TABLES.rglob("*.md")):
        page, source = (path.with_suffix(f".{kind}").read_text(encoding="utf-8") for kind in ("html", "tex"))
        numbers = Counter(NUMBER.findall(path.read_text(encoding="utf-8")))
        assert Counter(NUMBER.findall(strip_tags(page))) == numbers, path
        # The commands of LaTeX have further numbers.
        source = source.replace("$-$", MINUS).replace("--", "\N{EN DASH}").replace("-", MINUS)
        assert numbers.keys() <= set(NUMBER.findall(source)), path


def test_temporal_profiles_show_the_numbers_of_the_tables() -> None:
    scores, matches = read_scores(), 0
    for profile in read_profiles():
        page = strip_tags((REPORT / f"models/{profile['model']}.html").read_text(encoding="utf-8"))
        own_page = strip_tags((TEMPORAL / f"{profile['model']}.html").read_text(encoding="utf-8"))
        with (TEMPORAL / f"{profile['model']}.csv").open(encoding="utf-8") as stream:
            rows = {(row["benchmark"], row["name"], row["kind"], row["metric"]): row for row in csv.DictReader(stream)}
        for benchmark in profile["benchmarks"]:
            for condition in benchmark["conditions"]:
                name = (benchmark["name"], condition["condition"], "score")
                for metric, kind, decimals in (
                    (benchmark["score"], "headline_score", benchmark["decimals"]),
                    ("question", "question_score", benchmark["question_decimals"]),
                ):
                    estimate = Score(**condition[kind])
                    assert parse_score(rows[*name, metric]) == estimate
                    assert format_value(estimate.value, decimals) in page
                    assert format_value(estimate.value, decimals) in own_page
                    tables = [
                        score
                        for (run, table_metric, group), score in scores.items()
                        if (f"{run}/".startswith(f"{condition['run']}/") and table_metric == metric)
                        and group in ("average", "all", "overall")
                    ]
                    # A run with several judges has several scores; the profile has that of the first judge.
                    if tables:
                        assert any(score == pytest.approx(estimate) for score in tables), (condition, metric)
                        matches += 1
    assert matches >= 4


def item_values(columns: Mapping[str, Any], metric: str) -> list[int | None]:
    """Return the value of each item by its own answers, as the item browser counts it."""
    if "rating" in columns:
        signs = columns["rating"]
    else:
        signs = columns["fixed"][metric]
        if columns["samples"][metric] != "item_id" and "item_right" in columns:
            signs = "".join(
                "-" if sign == "-" else right for sign, right in zip(signs, columns["item_right"], strict=True)
            )
    return [None if sign == "-" else int(sign) for sign in signs]


def test_counts_of_a_profile_are_those_of_the_item_browser() -> None:
    catalog = {benchmark["name"]: benchmark for benchmark in read_data("catalog")["benchmarks"]}
    counts: dict[str, int] = defaultdict(int)
    for page, state, text, _ in find_links():
        if state.get("show") not in ("better", "worse", "temporal") or ("items" in text and page.name != "index.html"):
            continue
        benchmark, name = catalog[state["b"]], state["b"]
        index = read_data(f"{name}/index")
        columns = {
            run["name"]: read_data(f"{name}/runs/{run['index']}")
            for run in benchmark["runs"]
            for asked in (state["run"], state["other"])
            if f"{run['name']}/".startswith(f"{asked}/")
        }
        first, second = (
            next(value for run, value in columns.items() if f"{run}/".startswith(f"{asked}/"))
            for asked in (state["run"], state["other"])
        )
        group = state.get("group", "")
        group_number = benchmark["groups"].index(group) if group in benchmark["groups"] else None
        members = [
            group_number is None or group_number in index["group_sets"][group_set] for group_set in index["group_set"]
        ]
        pairs = zip(item_values(first, state["metric"]), item_values(second, state["metric"]), members, strict=True)
        counted = [(a, b) for a, b, is_member in pairs if is_member and a is not None and b is not None]
        if state["show"] == "temporal":
            marks = first["temporal"]["rating" if "rating" in first else state["metric"]]
            expected = sum(mark == "1" and is_member for mark, is_member in zip(marks, members, strict=True))
        else:
            expected = sum(a > b if state["show"] == "better" else a < b for a, b in counted)
        if (shown := re.search(r"\d+(?= items?)|^\d+$", text)) is None:
            continue  # a picture or a sentence without a count
        assert int(shown[0]) == expected, (page, state)
        counts[page.parts[0]] += 1
    assert counts["models"] >= 16 and counts["index.html"] >= 4


def read_listed_runs() -> dict[str, tuple[str, str, str]]:
    """Return the score, the interval and the chance level of each run in `reprise runs`."""
    _, _, header, *lines = reprise("runs").rstrip().splitlines()
    ends = [re.search(rf"\b{title}\b", header).end() for title in ("score", "interval", "chance")]  # type: ignore[union-attr]
    starts = [0, *ends[:-1]]
    return {
        line.split("(")[0].split()[-1]: tuple(line[start:end].strip() for start, end in zip(starts, ends, strict=True))
        for line in lines
    }


def test_the_list_of_runs_shows_the_numbers_of_the_tables_and_the_report() -> None:
    listed, scores, checked = read_listed_runs(), read_scores(), Counter[str]()
    for path in sorted(REPORT.rglob("*.html")):
        for match in RUN_ROW.finditer(path.read_text(encoding="utf-8")):
            state = dict(parse_qsl(html.unescape(match["state"])))
            assert listed[state["run"]] == (match["score"], match["interval"] or "", match["chance"]), (path, state)
            checked["pages"] += 1
            if score := scores.get((state["run"], state.get("metric", "mean"), state["group"])):
                value, interval, _ = listed[state["run"]]
                decimals = decimals_of(value)
                assert value == format_value(score.value, decimals), state
                assert interval == format_interval(score.low, score.high, decimals), state
                checked["tables"] += 1
    assert checked["pages"] > 100 and checked["tables"] > 40


def test_two_runs_differ_by_the_same_number_everywhere() -> None:
    """The sentence of the item browser, the first page, `reprise compare` and the profile have the same numbers."""
    first_page = strip_tags((REPORT / "index.html").read_text(encoding="utf-8")).replace("\N{NO-BREAK SPACE}", " ")
    differences: set[tuple[str, ...]] = set()
    for benchmark in read_data("catalog")["benchmarks"]:
        run, other = (
            next(run for run in benchmark["runs"] if run["name"].split("/")[3] == model and run["comparable"])
            for model in ("toy-llava-ov", "toy-llava-ov-early")
        )
        run = next(
            run
            for run in benchmark["runs"]
            if (run["model"], run["protocol"], run["sampling"])
            == ("toy-llava-ov", other["protocol"], other["sampling"])
        )
        sentence = read_data(f"{benchmark['name']}/comparisons/{run['index']}")[str(other["index"])]
        difference, low, high, p = numbers_of_difference(sentence)
        assert f"{difference} {low} {high} {p}" in normalize(
            compare(*("/".join(entry["name"].split("/")[:4]) for entry in (run, other)))
        )
        sentences = [
            sentence
            for run in benchmark["runs"]
            if run["comparable"]
            for sentence in read_data(f"{benchmark['name']}/comparisons/{run['index']}").values()
        ]
        differences |= {
            (match[1].lstrip("+"), match[2], match[3], match[4])
            for sentence in sentences
            if (match := DIFFERENCE.search(sentence))
        }
    leads = re.findall(rf"([\d.]+) \[([{MINUS}\d.]+), ([{MINUS}\d.]+)\] above [^,]*, p [=<] ([\d.]+\d)", first_page)
    assert leads and set(leads) <= differences
    for profile in read_profiles():
        for benchmark in profile["benchmarks"]:
            planned = next(entry for entry in benchmark["conditions"] if entry["condition"] == "planned")
            for condition in benchmark["conditions"]:
                if condition["difference"] is None:
                    continue
                value = format_value(condition["difference"]["value"], benchmark["question_decimals"], signed=True)
                assert f"{value} points" in compare(planned["run"], condition["run"])


def numbers_of_difference(sentence: str) -> tuple[str, str, str, str]:
    match = DIFFERENCE.search(sentence)
    assert match, sentence
    return match[1], match[2], match[3], match[4]


def normalize(text: str) -> str:
    """Return the numbers of a text, separated by blanks."""
    return " ".join(re.findall(rf"[+{MINUS}]?\d+\.\d+", text))


def reprise(*arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "reprise", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@cache
def compare(first: str, second: str) -> str:
    return reprise("compare", first, second)


@pytest.mark.parametrize("table", ["velociti/table9", "vinoground/table3", "temporalbench/table2", "overview"])
def test_the_terminal_shows_the_numbers_of_the_file(table: str) -> None:
    body = (TABLES / f"{table}.md").read_text(encoding="utf-8").partition("<details>")[0]
    shown = reprise("show", table)
    assert set(NUMBER.findall(body)) <= set(NUMBER.findall(shown))
