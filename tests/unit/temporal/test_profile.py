"""Temporal profiles: the worked example of docs/reference/temporal.md, scores per question, files and sentences."""

import re
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import RunAnswers
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.core.errors import UserError
from reprise.core.files import verify_sealed_text
from reprise.core.schemas import ITEMS, METRICS, VERDICTS, write_table
from reprise.stages import temporal_profile
from reprise.tables.render import markdown
from reprise.temporal.conditions import CONDITIONS, PLANNED
from reprise.temporal.figure import draw_profile
from reprise.temporal.findings import describe_benchmark, summarize_benchmark, summarize_profile
from reprise.temporal.measure import build_profile
from reprise.temporal.page import render_profile
from reprise.temporal.profile import BenchmarkProfile, TemporalProfile, read_profile
from reprise.temporal.ranking import common_benchmarks, order_loss, rank_on_benchmark, rank_overall
from reprise.temporal.rules import Outcome, Rule
from reprise.temporal.tables import build_ranking_table, tidy_rows

from tests.unit.rows import item_row, verdict_row
from tests.unit.temporal.profile_inputs import key_of, key_of_rule, write_items, write_verdicts

# The worked example: ten videos with one question each; 1 is a right answer.
EXAMPLE = {
    "none": "1010100001",
    "middle": "1110100000",
    "shuffled": "1111100010",
    "reversed": "1111000010",
    "planned": "1111111100",
}


def build_example(folder: Path, digits_by_condition: dict[str, str], **settings: object) -> TemporalProfile:
    items = write_items(folder, 10)
    right = {
        condition: [None if digit == "-" else digit == "1" for digit in digits]
        for condition, digits in digits_by_condition.items()
    }
    paths = {condition: write_verdicts(folder, condition, answers) for condition, answers in right.items()}
    return build_profile(key_of(items, paths, **settings))[0]


def test_worked_example(tmp_path: Path) -> None:
    (benchmark,) = build_example(tmp_path, EXAMPLE).benchmarks
    assert [round(result.question_score.value) for result in benchmark.conditions] == [40, 40, 60, 50, 80]
    differences = {result.condition: result.difference for result in benchmark.conditions if result.difference}
    assert {
        condition: (round(difference.value), difference.regressions, difference.improvements)
        for condition, difference in differences.items()
    } == {"none": (40, 5, 1), "middle": (40, 4, 0), "shuffled": (20, 3, 1), "reversed": (30, 4, 1)}
    assert {difference.outcome for difference in differences.values()} == {Outcome.TOO_FEW}, "ten clusters"
    ordered_only = benchmark.ordered_only
    assert ordered_only and (ordered_only.count, ordered_only.mirrored) == (3, 1)
    assert ordered_only.expected == pytest.approx(10 / 8), "right once and wrong twice, by a coin"
    assert benchmark.tomato.multi_frame_gain == pytest.approx(100)  # 80 / 40 - 1
    assert benchmark.tomato.order_sensitivity == pytest.approx(100 / 3)  # 80 / 60 - 1
    assert describe_benchmark(benchmark) == [
        "Too few clips to tell: 10 independent groups of clips; a verdict needs 40."
    ]
    assert benchmark.missing == dict.fromkeys(set(CONDITIONS) - set(EXAMPLE), "not in this suite")


def test_groups_of_unequal_size_count_as_fewer(tmp_path: Path) -> None:
    (benchmark,) = build_example(tmp_path, EXAMPLE).benchmarks
    many = benchmark.model_copy(update={"clusters": 45, "effective_clusters": 39.9})
    assert describe_benchmark(many) == [
        "Too few clips to tell: 45 independent groups of clips have unequal sizes and are worth only 39 equal ones; "
        "a verdict needs 40."
    ]


def test_scores_use_the_questions_of_every_condition(tmp_path: Path) -> None:
    (benchmark,) = build_example(tmp_path, EXAMPLE | {"none": "1010100-0-"}).benchmarks
    assert (benchmark.questions, benchmark.excluded, benchmark.clusters) == (8, 2, 8)


def test_documentation_has_the_answers_of_the_example() -> None:
    page = Path("docs/reference/temporal.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\w+) \| `([01 ]+)` \|", page, flags=re.MULTILINE))
    assert {condition: digits.replace(" ", "") for condition, digits in rows.items()} == EXAMPLE


def test_benchmark_without_answers_is_not_run(tmp_path: Path) -> None:
    (benchmark,) = build_example(tmp_path, {}, missing={"first": "too expensive"}).benchmarks
    assert benchmark.questions == 0 and benchmark.missing["first"] == "too expensive"
    assert (summarize_benchmark(benchmark), describe_benchmark(benchmark)) == ("not run", ["Not run."])


def test_unknown_score_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown score 'strict'. Allowed: ba, mba"):
        build_example(tmp_path, EXAMPLE, score="strict")


def test_chance_is_read_from_the_statistics(tmp_path: Path) -> None:
    number = {"metric": "chance.short.mba", "group": "overall", "value": 12.5}
    counts = dict.fromkeys(("requested", "scored", "failed", "unparsed", "missing"), 0)
    path = tmp_path / "statistics.parquet"
    write_table(pl.DataFrame([number | counts], schema=METRICS), path, METRICS)
    assert build_example(tmp_path, EXAMPLE, score="mba", statistics=path).benchmarks[0].chance == 12.5
    assert build_example(tmp_path, EXAMPLE, score="mba").benchmarks[0].chance is None


def test_profile_of_another_version_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"model": "toy"}')
    with pytest.raises(UserError, match="not a temporal profile of this version"):
        read_profile(path)


def test_stage_writes_all_files_and_the_page_loads_nothing(tmp_path: Path) -> None:
    key = key_of_rule(tmp_path, lambda condition, number: number % 2 == 0 or condition == PLANNED)
    page = tmp_path / "results" / "toy.html"
    temporal_profile.main(key, [], page)
    profile = read_profile(page.with_suffix(".json"))
    (benchmark,) = profile.benchmarks
    assert summarize_profile(profile) == "Sensitive to the order or position of frames: TemporalBench"
    for kind in (".html", ".md"):
        assert "Sensitive to the order or position of frames" in verify_sealed_text(page.with_suffix(kind)).read_text()
    assert "http" not in page.read_text().replace("http-equiv", "") and "<script" not in page.read_text()
    questions, rows = (pl.read_csv(page.with_suffix(kind)) for kind in (".items.csv", ".csv"))
    assert benchmark.ordered_only and questions.height == 60 == benchmark.ordered_only.count
    assert questions["question"][0] == "q001"
    assert rows.filter(kind="score", metric="question")["name"].to_list() == list(CONDITIONS)
    assert set(rows.filter(kind="verdict")["note"]) == {"shown"}
    assert (
        rows.filter(kind="difference").select("regressions", "improvements", "p").null_count().sum_horizontal().item()
        == 0
    )


def test_headline_score_equals_the_benchmark_s_metric(tmp_path: Path) -> None:
    """The tests differ in size; the control counts in no mean."""
    tasks = [*[CONTROL] * 9, *(task for number, task in enumerate(TESTS) for _ in range(4 + number))]
    rows = [item_row(f"i{number}", cluster=f"v{number % 7}", task=task) for number, task in enumerate(tasks)]
    requests = [(number, role, step) for number in range(len(rows)) for role, step in (("pos", 3), ("neg", 2))]
    verdict_rows = [
        verdict_row(f"i{number}#{role}", right=number * step % 5 > 1, score=number * step % 7 / 7)
        for number, role, step in requests
    ]
    items, verdicts = pl.DataFrame(rows, schema=ITEMS), pl.DataFrame(verdict_rows, schema=VERDICTS)
    paths = tmp_path / "items.parquet", tmp_path / "verdicts.parquet"
    write_table(items, paths[0], ITEMS)
    write_table(verdicts, paths[1], VERDICTS)
    settings = {"name": "velociti", "form": "entail", "score": "strict", "group": "average"}
    profile, _ = build_profile(key_of(paths[0], {"planned": paths[1], "shuffled": paths[1]}, **settings))
    (benchmark,) = profile.benchmarks
    measures = load_scores("velociti").SCORES["entail"].compute_measures(RunAnswers(items, verdicts), 0.95)
    expected = {measure.metric: measure for measure in measures if measure.group == "average"}
    shuffled, planned = benchmark.conditions
    for metric, score in (("strict", planned.headline_score), ("classic", planned.question_score)):
        numbers = {name: getattr(expected[metric], name) for name in ("value", "low", "high")}
        assert score.model_dump() == pytest.approx(numbers)
    assert (benchmark.question_title, benchmark.question_chance) == ("accuracy per caption pair", 50)
    assert shuffled.difference is not None
    assert (benchmark.best, benchmark.chance, shuffled.difference.value) == (100, 25, 0)


def test_shifted_threshold_is_no_sensitivity_to_order(tmp_path: Path) -> None:
    """The captions' scores differ equally under every condition, but their answers are all Yes without the order."""
    items = [item_row(f"i{number:03}", cluster=f"v{number:03}", task=TESTS[number % 7]) for number in range(280)]
    write_table(pl.DataFrame(items, schema=ITEMS), tmp_path / "items.parquet", ITEMS)
    paths = {}
    for condition in CONDITIONS:
        shift = 0.3 if condition in ("shuffled", "reversed") else 0.0
        rows = []
        for number in range(280):
            is_confused = number % 5 == 0
            positive, negative = (0.4, 0.6) if is_confused else (0.6, 0.4)
            for role, score in (("pos", positive + shift), ("neg", negative + shift)):
                answer = "Yes" if score > 0.5 else "No"
                right = answer == ("Yes" if role == "pos" else "No")
                rows.append(verdict_row(f"i{number:03}#{role}", value=answer, right=right, score=score))
        paths[condition] = tmp_path / f"{condition}.parquet"
        write_table(pl.DataFrame(rows, schema=VERDICTS), paths[condition], VERDICTS)
    settings = {"name": "velociti", "form": "entail", "score": "strict", "group": "average"}
    (benchmark,) = build_profile(key_of(tmp_path / "items.parquet", paths, **settings))[0].benchmarks
    planned, shuffled = benchmark.condition("planned"), benchmark.condition("shuffled")
    assert planned and shuffled and shuffled.difference
    assert (round(planned.headline_score.value), round(shuffled.headline_score.value)) == (80, 0)
    assert (round(planned.question_score.value), shuffled.difference.value) == (80, 0)
    assert (planned.first_option_share, shuffled.first_option_share) == (50, 100), "the share of Yes shows the shift"
    assert benchmark.outcome(Rule.ORDER) == benchmark.outcome(Rule.SHUFFLING) == Outcome.NOT_SHOWN


def test_refusals_without_video_are_not_measured(tmp_path: Path) -> None:
    """A text-only model that refuses to answer without frames does not use the video."""
    key = key_of_rule(tmp_path, lambda condition, number: number % 2 == 0)
    refused = [verdict_row(f"q{number:03}#q", value="", right=False, unparsed=True) for number in range(120)]
    write_table(pl.DataFrame(refused, schema=VERDICTS), tmp_path / "none.parquet", VERDICTS)
    (benchmark,) = build_profile(key)[0].benchmarks
    none = benchmark.condition("none")
    assert none and none.difference and none.difference.outcome == Outcome.NOT_MEASURED
    assert (none.unparsed_share, none.failed_share) == (100, 0)
    assert benchmark.outcome(Rule.VIDEO) == Outcome.NOT_SHOWN, "a mismatched clip scores the same"
    assert describe_benchmark(benchmark)[0].startswith("Not shown: uses the video; as planned 0.0 [")
    key = key_of_rule(tmp_path, lambda condition, number: number % 2 == 0 or condition == PLANNED)
    write_table(pl.DataFrame(refused, schema=VERDICTS), tmp_path / "none.parquet", VERDICTS)
    (benchmark,) = build_profile(key)[0].benchmarks
    sentence = describe_benchmark(benchmark)[0]
    assert sentence == "Not measured: uses the video. Unparsed or failed answers: text only 100 %; 0 % as planned."


def test_a_loss_that_a_shift_towards_one_option_can_explain_is_not_measured(tmp_path: Path) -> None:
    """Four of five planned answers are right, half of them A; without the planned frames, all answers are A.

    Half of those are right. A threshold that moves so far would lose the same 30 points.
    """
    paths = {}
    for condition in CONDITIONS:
        rows = []
        for number in range(400):
            expected, other = ("A", "B") if number % 2 else ("B", "A")
            planned_value = expected if number % 10 < 8 else other
            value = planned_value if condition == PLANNED else "A"
            rows.append(verdict_row(f"q{number:03}#q", value=value, right=value == expected))
        paths[condition] = tmp_path / f"{condition}.parquet"
        write_table(pl.DataFrame(rows, schema=VERDICTS), paths[condition], VERDICTS)
    (benchmark,) = build_profile(key_of(write_items(tmp_path, 400), paths))[0].benchmarks
    shuffled = benchmark.condition("shuffled")
    assert shuffled and shuffled.difference and (shuffled.difference.value, shuffled.first_option_share) == (30, 100)
    assert {result.difference.outcome for result in benchmark.conditions if result.difference} == {Outcome.NOT_MEASURED}
    assert summarize_benchmark(benchmark) == "use of the video not measured"
    shares = "Points that a moved threshold for Yes or A can explain: text only 30, mismatched clip 30."
    assert describe_benchmark(benchmark)[0] == f"Not measured: uses the video. {shares}"


# Conditions under which a model is right on four of five questions; it is right on half of them under the others.
SINGLE = ("first", "middle", "last", "first_repeated", "middle_repeated", "last_repeated")


@pytest.mark.parametrize(
    ("conditions", "summary", "sentence"),
    [
        ((), "no evidence of video use", "Not shown: uses the video; as planned 0.0 ["),
        (("none",), "gain of at most 5 % over text only", "Not shown: uses the video; as planned 0.0 ["),
        (("planned", "shuffled", "reversed", *SINGLE), "uses the video", "Not shown: better than its first, middle"),
        (("planned", "shuffled", "reversed", "last"), "uses the video", "against last frame."),
        (("planned", "shuffled", "reversed"), "better than its first, middle or last frame alone", "Uses the video: as"),
        (("planned", "reversed"), "lower with shuffled frames only; use of order not shown", "Lower with shuffled frames: as planned +30.0 ["),
        (("planned",), "sensitive to the order or position of frames", "points against frames shuffled."),
    ],
)  # fmt: skip
def test_sentences(conditions: tuple[str, ...], summary: str, sentence: str, tmp_path: Path) -> None:
    better = (*conditions, PLANNED) if conditions else ()
    key = key_of_rule(
        tmp_path, lambda condition, number: number % 5 > 0 if condition in better else number * 7 % 10 < 5, 400
    )
    (benchmark,) = build_profile(key)[0].benchmarks
    sentences = describe_benchmark(benchmark)
    assert summarize_benchmark(benchmark) == summary
    assert any(sentence in line for line in sentences), sentences
    assert not any("due to" in line for line in sentences)


def test_conditions_that_were_not_run_leave_the_rule_untested(tmp_path: Path) -> None:
    key = key_of_rule(tmp_path, lambda condition, number: condition == PLANNED, 60, ("none", "shuffled", "planned"))
    (benchmark,) = build_profile(key)[0].benchmarks
    assert summarize_benchmark(benchmark) == "use of the video not tested"
    assert describe_benchmark(benchmark)[0] == "Not tested: uses the video. Not run: mismatched clip."


# --- broken runs ---------------------------------------------------------------------------------


def write_health(folder: Path, metric: str, value: float, requested: int = 96) -> Path:
    """Write the metrics of a run with one health metric of its answers."""
    counts = {"requested": requested, "scored": requested} | dict.fromkeys(("failed", "unparsed", "missing"), 0)
    path = folder / f"{metric}.metrics.parquet"
    write_table(
        pl.DataFrame([{"metric": metric, "group": "answers", "value": value} | counts], schema=METRICS), path, METRICS
    )
    return path


def build_broken(folder: Path, metric: str, value: float, requested: int = 96) -> TemporalProfile:
    """Return a profile of a model that uses the video, with this health metric of its planned run."""
    key = key_of_rule(folder, lambda condition, number: number % 2 == 0 or condition == PLANNED)
    (benchmark,) = key.benchmarks
    metrics = write_health(folder, metric, value, requested)
    broken = benchmark.model_copy(update={"metrics": metrics, "runs": {PLANNED: "temporalbench/short/linspace8/toy"}})
    return build_profile(key.model_copy(update={"benchmarks": (broken,)}))[0]


def test_run_that_looks_broken_gets_no_verdict_panel_or_loss(tmp_path: Path) -> None:
    profile = build_broken(tmp_path, "health_unparsed", 100)
    (benchmark,) = profile.benchmarks
    reason = "100.0 % of 96 answers could not be parsed"
    assert benchmark.problems == (reason,) and not benchmark.verdicts and benchmark.ordered_only is None
    assert all(result.difference is None for result in benchmark.conditions) and order_loss([benchmark]) is None
    assert summarize_profile(profile) == "No verdict: the run looks broken: TemporalBench"
    sentence = f"No verdict: the run temporalbench/short/linspace8/toy looks broken: {reason}."
    assert describe_benchmark(benchmark) == [sentence]
    assert not [axes for axes in draw_profile(profile, 3.25).axes if axes.get_visible()]
    page = render_profile(profile)
    assert sentence in page and 'class="tp-mark' not in page and "no evidence" not in page
    rows = tidy_rows([profile])
    assert rows.filter(kind="broken")["note"].to_list() == [reason] and "verdict" not in rows["kind"]


@pytest.mark.parametrize(("metric", "value", "requested"), [("health_unparsed", 20, 96), ("health_unparsed", 100, 19)])
def test_run_that_looks_healthy_or_has_few_answers_keeps_its_verdict(
    metric: str, value: float, requested: int, tmp_path: Path
) -> None:
    (benchmark,) = build_broken(tmp_path, metric, value, requested).benchmarks
    assert not benchmark.problems and benchmark.outcome(Rule.ORDER) == Outcome.SHOWN


def test_broken_profile_has_no_rank_and_leaves_those_of_others(tmp_path: Path) -> None:
    broken = rename(build_broken(tmp_path, "health_failed", 100), "broken", "a", "b")
    healthy = rename(build_broken(tmp_path, "health_failed", 0), "healthy", "a", "b")
    assert common_benchmarks([broken, healthy]) == ["a", "b"]
    first, second = rank_overall([broken, healthy])
    assert (first.profile.title, second.profile.title, second.loss) == ("healthy", "broken", None)
    assert first.loss and first.loss.value == 50
    text = markdown.render(build_ranking_table([broken, healthy]))
    assert "no rank: the run on a, b looks broken" in text and "no verdict: the run looks broken" in text


# --- ranking -------------------------------------------------------------------------------------


def rename(profile: TemporalProfile, title: str, *names: str) -> TemporalProfile:
    """Return a profile with its only benchmark under these names."""
    (benchmark,) = profile.benchmarks
    benchmarks = tuple(benchmark.model_copy(update={"name": name, "title": name}) for name in names)
    return profile.model_copy(update={"title": title, "benchmarks": benchmarks})


def test_ranking_uses_only_benchmarks_of_all_models(tmp_path: Path) -> None:
    with_order, without_order = (
        build_profile(key_of_rule(tmp_path, rule))[0]
        for rule in (
            lambda condition, number: number % 2 == 0 or condition == PLANNED,
            lambda condition, number: number % 2 == 0,
        )
    )
    profiles = [rename(without_order, "bag", "a", "b"), rename(with_order, "ordered", "b")]
    assert common_benchmarks(profiles) == ["b"]
    first, second = rank_overall(profiles)
    assert [first.profile.title, second.profile.title] == ["ordered", "bag"]
    assert first.loss and first.loss.value == 50 and first.loss.low is not None and 0 < first.loss.low < 50
    assert second.loss and second.loss.value == 0
    assert [model.profile.title for model in rank_on_benchmark(profiles, "a")] == ["bag"]


def test_order_loss_is_the_smaller_loss(tmp_path: Path) -> None:
    key = key_of_rule(
        tmp_path, lambda condition, number: number % 10 < {"shuffled": 5, "reversed": 7}.get(condition, 9)
    )
    (benchmark,) = build_profile(key)[0].benchmarks
    loss = order_loss([benchmark])
    assert loss and loss.value == pytest.approx(20)
    without: BenchmarkProfile = benchmark.model_copy(update={"conditions": benchmark.conditions[:-2]})
    assert order_loss([without]) is None
