"""Test a model's page: its numbers in the leaderboard come first, and so does the run behind each of them."""

import re

from reprise.report.keys import ReportedRun
from reprise.report.model_page import describe_places, list_scores, order_runs

from tests.unit.report.test_leaderboard import make_leaderboard, make_run
from tests.unit.report.world import OTHER_RUN, RUN, World, make_metric, make_run_tables

HEADLINE = {
    "metric": "strict", "group": "average", "title": "Strict", "decimals": 1, "table": None, "protocol": "entail",
    "sampling": "fps1",
}  # fmt: skip
SCORES = (0.9, 0.4)


def test_the_runs_behind_the_leaderboard_come_first() -> None:
    runs = [make_run("late", "packed"), make_run("late", "unpacked.subset"), make_run("late"), make_run("early")]
    leaderboard = make_leaderboard(*((run, 1.0) for run in runs))
    packed, subset, planned, early = runs
    places = describe_places(leaderboard)
    assert places == {
        planned: "in the leaderboard", subset: "in the leaderboard, subset", early: "in the leaderboard"
    }  # fmt: skip
    ordered = order_runs([ReportedRun(run=run, label="Late") for run in (packed, subset, planned)], places)
    assert [run.run for run in ordered] == [planned, subset, packed]
    assert [(score.column.title, score.cell.run) for score in list_scores(leaderboard, "late")] == [
        ("MMBench-Video", planned), ("MMBench-Video subset", subset)
    ]  # fmt: skip
    assert list_scores(leaderboard, "unknown") == []


def test_a_variant_is_named_and_is_no_score_of_the_model() -> None:
    leaderboard = make_leaderboard((make_run("late"), 1.0), (make_run("early"), 2.0))
    early, late = sorted(leaderboard.rows, key=lambda row: row.key)
    late.key, late.label, late.model, late.is_variant = "early/CoT", "Early (CoT)", "early", True
    assert describe_places(leaderboard)[make_run("late")] == "in the leaderboard as Early (CoT)"
    assert [score.cell.run for score in list_scores(leaderboard, "early")] == [make_run("early")]
    assert early.key == "early"


def test_a_page_shows_the_score_with_its_samples_before_the_runs(world: World) -> None:
    world.headline = HEADLINE
    number = make_metric("strict", "average", 50.0) | {"low": 20.0, "high": 80.0, "requested": 670}
    world.runs = {name: make_run_tables(SCORES, SCORES, SCORES) for name in (RUN, OTHER_RUN)}
    world.metrics_by_run = {name: [number] for name in world.runs}
    world.build()
    model = RUN.rpartition("/")[2]
    page = world.files()[f"models/{model}.html"].decode()
    assert re.search(r"<dd><a [^>]+>50.0</a> <small>\[20.0, 80.0\]</small>", page)
    assert "chance 25, n = 670</dd>" in page and page.index("n = 670") < page.index('id="runs-velociti"')
    assert '<a href="#runs-velociti">VELOCITI</a>: Strict' in page
    assert '</a> <small>entail, fps1</small> <small class="place">in the leaderboard</small></th>' in page
    header, row = re.findall(r"<tr>(.*?)</tr>", page, flags=re.DOTALL)
    titles = re.findall(r"<th[^>]*>(.*?)</th>", header)
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.DOTALL)
    assert cells[titles.index("Samples")] == "670" and re.sub("<[^>]+>", "", cells[titles.index("Items asked")]) == "3"
