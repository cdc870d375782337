"""Test the summary of the runs' health, and the lists of runs with their scores."""

from reprise.report.health import OutcomeCounts, list_outcomes, summarize_health
from reprise.report.keys import ReportedRun
from reprise.report.runs import RunSummary

from tests.unit.report.world import OTHER_RUN, RUN, World, make_metric
from tests.unit.rows import verdict_row


def make_summary(requested: int, failed: int = 0, unparsed: int = 0, missing: int = 0) -> RunSummary:
    return RunSummary(requested, failed, unparsed, missing, 0, requested, [], frozenset(), frozenset(), {})


def test_outcomes_have_denominators_and_baselines_are_counted_separately() -> None:
    runs = [ReportedRun(run=RUN, label="One"), ReportedRun(run=OTHER_RUN, label="Two", reference=True)]
    summaries = {RUN: make_summary(40, failed=10, missing=10), OTHER_RUN: make_summary(100, unparsed=60)}
    health = summarize_health(runs, summaries, {RUN: [], OTHER_RUN: []})
    assert health.counts == [
        OutcomeCounts("models", 1, 50, 40, 10, 0, 10),
        OutcomeCounts("baselines", 1, 100, 100, 0, 60, 0),
    ]
    assert health.counts[0].describe() == "10 of 40 failed (25.0 %), 10 of 50 without a clip (20.0 %)"
    assert [outcome.show for outcome in list_outcomes(summaries, runs)] == ["failed", "unparsed", "missing"]
    assert list_outcomes(summaries, runs[1:])[0].title == "unparsed", "columns of zeros are left out"


def test_a_run_without_scored_answers_looks_broken() -> None:
    runs = [ReportedRun(run=RUN, label="One"), ReportedRun(run=OTHER_RUN, label="Two", reference=True)]
    health = summarize_health(
        runs, {RUN: make_summary(0, missing=3), OTHER_RUN: make_summary(0)}, {RUN: [], OTHER_RUN: []}
    )
    assert health.broken_runs == [(runs[0], ["no answers were scored"])]
    assert health.broken_counts == {"velociti": 1}


def test_runs_are_listed_with_score_interval_and_chance(world: World) -> None:
    score = {"low": 20.0, "high": 61.0, "p_chance": 0.2}
    world.metrics = [make_metric("strict", "average", 40.0) | score]
    world.build()
    for page in ("index.html", "models/one.html"):
        text = world.files()[page].decode()
        score_cell = (
            '<td class="right"><a href="'
            + ("" if page == "index.html" else "../")
            + "items.html#b=velociti&amp;run=velociti%2Fentail%2Ffps1%2Fone&amp;metric=strict"
        )
        assert score_cell in text and ">40.0</a></td>" in text
        assert "25 <small>not above</small>" in text
        assert 'class="right">no clip</th>' in text and 'class="right">failed</th>' not in text
    assert "All 1 runs" not in text
    first_page = world.files()["index.html"].decode()
    assert "The only run of a model looks healthy." in first_page
    assert "2 of 3 without a clip (66.7 %)." in first_page


def test_a_suite_without_runs_says_so(world: World) -> None:
    world.runs = {}
    world.build()
    first_page = world.files()["index.html"].decode()
    assert "<p>Nothing was run.</p>" in first_page and "healthy" not in first_page


def test_failed_items_have_a_column(world: World) -> None:
    responses, _, _ = world.runs[RUN]
    failed = [verdict_row("a#pos", failed=True)]
    world.runs[RUN] = (responses, failed, failed)
    world.build()
    assert 'class="right">failed</th>' in world.files()["index.html"].decode()
