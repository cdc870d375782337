"""Test `compare`: differences between the conditions of two runs, and the samples on which the runs differ."""

from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.comparison import compare_by_task, compare_headline
from reprise.benchmarks.registry import load_scores
from reprise.commands.compare import MAX_LISTED, Conditions, list_differences, list_item_differences, match_pair
from reprise.core.errors import UserError

NAMES = ("one", "two")
SETTINGS: dict[str, Any] = {
    "adapter": "transformers",
    "sampling": {"rule": "linspace", "frames": 4},
    "settings": {"max_pixels": 100},
    "prompt": {"system": "", "user": "Does the video fit {caption}?"},
    "dtype": "float32",
    "model": {"repo": "a/b", "revision": "r1"},
    "versions": {"torch": "2.13"},
    "extractor": {"name": "robust", "code": "c1"},
    "released": {"items.csv": "ab" * 32},
}
BASE_CONDITIONS = Conditions(
    settings=SETTINGS,
    frames={"c1": (1, 5, 9), "c2": (0,)},
    clips={"c1": "aa", "c2": "bb"},
    prompts={"a#pos": "p1", "b#pos": "p2"},
    answered_clips=frozenset({"c1", "c2"}),
    missing_clips=frozenset(),
)


def change_settings(**settings: Any) -> Conditions:
    """Return the base conditions with other settings."""
    return BASE_CONDITIONS._replace(settings={**SETTINGS, **settings})


@pytest.mark.parametrize(
    ("other", "lines"),
    [
        (BASE_CONDITIONS, []),
        (change_settings(sampling={"rule": "midpoint", "frames": 4}), ["- sampling.rule: linspace | midpoint"]),
        (change_settings(settings={}), ["- settings.max_pixels: 100 | (none)"]),
        (change_settings(prompt={"system": "", "user": "Does the clip fit {caption}?"}), ["- prompt.user: Does the [-video-]{+clip+} fit {caption}?"]),
        (change_settings(prompt={"system": "Be\nbrief\u202e." , "user": SETTINGS["prompt"]["user"]}), ["- prompt.system: {+Be \N{DOWNWARDS ARROW WITH CORNER LEFTWARDS} brief[U+202E].+}"]),
        (BASE_CONDITIONS._replace(frames={"c1": (2, 6, 10), "c2": (0,)}), ["- frames: 1 of 2 clips differ, such as c1: 1, 5, 9 (3) | 2, 6, 10 (3)"]),
        (BASE_CONDITIONS._replace(prompts={"a#pos": "p1", "b#pos": "p9"}), ["- prompts as sent: 1 of 2 requests differ"]),
        (BASE_CONDITIONS._replace(answered_clips=frozenset({"c2"}), missing_clips=frozenset({"c1"})), ["- clips missing only in two: 1: c1"]),
        (BASE_CONDITIONS._replace(answered_clips=frozenset({"c2", "c3"})), ["- clips asked about only in one: 1: c1", "- clips asked about only in two: 1: c3"]),
        (BASE_CONDITIONS._replace(clips={"c1": "aa", "c2": "xx"}), ["- clips: 1 of 2 files differ, such as c2"]),
    ],
)  # fmt: skip
def test_each_kind_of_difference_has_a_line(other: Conditions, lines: list[str]) -> None:
    assert list(list_differences(NAMES, BASE_CONDITIONS, other)) == lines


def test_conditions_of_imported_answers_are_unknown_rather_than_none() -> None:
    imported = {name: SETTINGS[name] for name in ("sampling", "extractor", "released")}
    imported |= {"adapter": "import", "form": "entail", "files": {"a.csv": "x"}}
    other = BASE_CONDITIONS._replace(settings=imported, prompts={}).as_imported()
    assert list(list_differences(NAMES, BASE_CONDITIONS, other)) == [
        "- frames: known | unknown", "- prompt: known | unknown", "- clips: known | unknown",
        "- adapter: transformers | import", "- dtype: float32 | unknown", "- files.a.csv: (none) | x", "- form: (none) | entail",
        "- model.repo: a/b | unknown", "- model.revision: r1 | unknown", "- settings.max_pixels: 100 | unknown",
        "- versions.torch: 2.13 | unknown",
    ]  # fmt: skip
    assert "- dtype: unknown | float32" in list(list_differences(NAMES, other, BASE_CONDITIONS))


def make_outcomes(*values: float) -> pl.DataFrame:
    return pl.DataFrame({"item_id": [f"i{index}" for index in range(len(values))], "right": values})


def test_samples_are_listed_by_the_better_run() -> None:
    lines = list(list_item_differences("mean", ("a", make_outcomes(3, 0, 1)), ("b", make_outcomes(2, 1, 1))))
    assert lines == ["mean: a is better on 1 of 3: i0", "mean: b is better on 1 of 3: i1"]
    first, better, _ = list_item_differences(
        "strict", ("a", make_outcomes(*[1.0] * 12)), ("b", make_outcomes(*[0.0] * 11))
    )
    assert first == "strict: 12 samples of a, 11 of b"
    assert better.startswith("strict: a is better on 11 of 11: i0, ") and better.endswith(
        f"i{MAX_LISTED - 1}, and 3 more"
    )


def make_task_outcomes(**values_by_task: list[float]) -> pl.DataFrame:
    """Return the samples of tests, each of a separate video."""
    rows = [
        (f"{task}{index}", task, value) for task, values in values_by_task.items() for index, value in enumerate(values)
    ]
    names, tasks, values = zip(*rows, strict=True)
    return pl.DataFrame({"item_id": names, "cluster": names, "task": tasks, "right": values})


def test_the_headline_of_velociti_is_the_mean_of_its_tests_without_the_control() -> None:
    scores = load_scores("velociti").SCORES["entail"]
    first_outcomes = {"strict": make_task_outcomes(control=[0, 0], coref=[1, 1, 1, 1], chrono=[1, 0])}
    second_outcomes = {"strict": make_task_outcomes(control=[1, 1], coref=[1, 1, 0, 0], chrono=[0, 0])}
    headline = compare_headline(scores, first_outcomes, second_outcomes, 0.95)
    assert headline is not None and headline.subject == ("strict", "average of 7")
    assert headline.comparison.difference == pytest.approx(100 * (0.5 + 0.5) / 2) and headline.comparison.n_items == 6
    assert headline.comparison.p == pytest.approx(2 / 2**3), "weights 1/8, 1/8 and 1/4 of three videos that differ"
    assert compare_headline(scores, first_outcomes, {}, 0.95) is None
    differences = [
        (part.task, part.comparison.difference)
        for part in compare_by_task(scores, "strict", first_outcomes["strict"], second_outcomes["strict"], 0.95)
    ]
    assert differences == [("control", -100.0), ("coref", 50.0), ("chrono", 50.0)]


@pytest.mark.parametrize(
    ("benchmark", "form", "metric", "difference"),
    [
        ("vinoground", "questions", "group", "+100.0"),
        ("temporalbench", "short", "mba", "+100.0"),
        ("mmbench_video", "unpacked", "mean", "+3.00"),
    ],
)
def test_the_headline_of_other_benchmarks_is_one_metric_of_all_samples(
    benchmark: str, form: str, metric: str, difference: str
) -> None:
    scores = load_scores(benchmark).SCORES[form]
    first_outcomes, second_outcomes = (
        {name: make_task_outcomes(x=[right, right], y=[right]) for name in scores.metrics} for right in (1, 0)
    )
    headline = compare_headline(scores, first_outcomes, second_outcomes, 0.95)
    assert headline is not None and headline.describe(0.95).startswith(
        f"{metric}, all: {difference} points, 95 % interval ["
    )


RUNS = ("b/mc/fps1/late", "b/mc/fps1/early", "b/entail/fps1/late", "b/entail/fps2/late", "c/mc/fps1/late")


@pytest.mark.parametrize(
    ("first", "second", "pair"),
    [
        ("late", "early", ("b/mc/fps1/late", "b/mc/fps1/early")),
        ("entail/fps1", "entail/fps2", ("b/entail/fps1/late", "b/entail/fps2/late")),
        ("entail", "mc", ("b/entail/fps1/late", "b/mc/fps1/early")),  # rejected later, because they cannot be compared
        ("late", "nobody", ("late", "nobody")),
    ],
)
def test_a_pair_of_runs_may_be_abbreviated(first: str, second: str, pair: tuple[str, str]) -> None:
    assert match_pair(first, second, RUNS) == pair
    with pytest.raises(UserError, match="Copy one:\n  reprise compare b/entail/fps1/late b/entail/fps2/late\n"):
        match_pair("late", "late", RUNS)
