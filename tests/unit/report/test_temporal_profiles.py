"""Test temporal profiles in the report."""

from pathlib import Path

import pytest
from reprise.core.files import seal_file, write_text
from reprise.core.paths import ALL, TEMPORAL
from reprise.media.ablations import REVERSED, SHUFFLED
from reprise.report.inputs import PROFILE_KINDS
from reprise.temporal.conditions import PLANNED
from reprise.temporal.profile import (
    BenchmarkProfile,
    ConditionResult,
    PlannedDifference,
    ScoreEstimate,
    TemporalProfile,
    write_profile,
)
from reprise.temporal.rules import Outcome

from tests.unit.report.test_data import CORRECT_SCORES, REVERSED_RUN, SHUFFLED_RUN, WRONG_SCORES
from tests.unit.report.world import RUN, World, make_run_tables
from tests.unit.temporal.profile_inputs import STYLE

LOSS = PlannedDifference(value=50.0, low=10.0, high=90.0, p=0.03, outcome=Outcome.SHOWN, regressions=1, improvements=0)


def make_condition(name: str, run: str, score: float, difference: PlannedDifference | None) -> ConditionResult:
    estimate = ScoreEstimate(value=score, low=20.0, high=90.0)
    shares = {"first_option_share": 40.0, "unparsed_share": 2.0, "failed_share": 1.0}
    return ConditionResult(
        condition=name, run=run, question_score=estimate, headline_score=estimate, difference=difference, **shares
    )


CONDITIONS = (
    make_condition(PLANNED, RUN, 66.7, None),
    make_condition(SHUFFLED, SHUFFLED_RUN, 33.3, LOSS),
    make_condition(REVERSED, REVERSED_RUN, 0.0, LOSS),
)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a suite with a model that has a temporal profile."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.runs = {
        RUN: make_run_tables(CORRECT_SCORES, CORRECT_SCORES, WRONG_SCORES),
        SHUFFLED_RUN: make_run_tables(WRONG_SCORES, CORRECT_SCORES, WRONG_SCORES),
    }
    world.runs[REVERSED_RUN] = make_run_tables(WRONG_SCORES, WRONG_SCORES, WRONG_SCORES)
    world.ablations = {RUN: {"shuffled": SHUFFLED_RUN, "reversed": REVERSED_RUN}}
    world.key_changes = {"temporal": ["one"], "notice": "Toy <numbers>."}
    benchmark = BenchmarkProfile(
        name="velociti", title="VELOCITI", protocol="entail", sampling="fps1", score="strict", score_title="Strict",
        question_title="accuracy per caption pair", question_metric="classic",
        decimals=1, best=100, questions=3, excluded=0, clusters=2, effective_clusters=2, conditions=CONDITIONS, chance=25.0,
    )  # fmt: skip
    profile = TemporalProfile(
        suite="small",
        notice="Toy <numbers>.",
        level=0.95,
        model="one",
        title="One",
        style=STYLE,
        benchmarks=(benchmark,),
    )
    for name in ("one", ALL):
        for kind in PROFILE_KINDS:
            write_text(TEMPORAL / f"{name}.{kind}", f"{name}, {kind}")
            seal_file(TEMPORAL / f"{name}.{kind}")
    write_profile(profile, TEMPORAL / "one.json")
    return world


def test_numbers_of_a_profile_link_to_their_items_and_the_first_page_has_the_figure(world: World) -> None:
    world.build()
    files = world.files()
    page = files["models/one.html"].decode()
    run, shuffled = (name.replace("/", "%2F") for name in (RUN, SHUFFLED_RUN))
    comparison = f"../items.html#b=velociti&run={run}&metric=classic&other={shuffled}&show=".replace("&", "&amp;")
    assert f'<a href="../items.html#b=velociti&amp;run={run}&amp;metric=classic">66.7</a>' in page
    # The planned run comes first in the comparison, so `better` shows the regressions, and `worse` the improvements.
    assert f'<a href="{comparison}better">1</a>' in page and f'<a href="{comparison}worse">0</a>' in page
    assert f'<a href="{comparison}temporal">items that are right only in the planned order</a>' in page
    planned, other = RUN, SHUFFLED_RUN
    indices = {entry["name"]: entry["index"] for entry in world.data("catalog")["benchmarks"][0]["runs"]}
    for first, second, difference in ((planned, other, "+50.0 points, 95 % interval [10.0, 90.0]"), (other, planned, "−50.0 points, 95 % interval [−90.0, −10.0]")):  # fmt: skip
        sentence = world.data(f"velociti/comparisons/{indices[first]}")[str(indices[second])]
        assert sentence == (
            f"Per question, accuracy per caption pair: {difference}, p = 0.0300; questions: 3; clusters: 2 (cluster t-test)."
        )
    assert page.count("Toy &lt;numbers&gt;.") == 1, "the page has the notice once"
    assert '<img src="temporal/all.svg"' in files["index.html"].decode()
    assert files["temporal/all.svg"] == b"all, svg" and files["temporal/one.items.csv"] == b"one, items.csv"
    world.key_changes = {}
    world.build()
    assert not any(name.startswith("temporal/") for name in world.files()), "without profiles their files are removed"
    assert "temporal/" not in world.files()["index.html"].decode()
