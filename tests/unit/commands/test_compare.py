"""What `compare` says of two runs: each kind of difference of their conditions, and the samples on which they differ."""

from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.comparing import headline, parts
from reprise.benchmarks.registry import load_scores
from reprise.commands.compare import MOST_LISTED, Conditions, differences, items_between, pair_of
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
    "reader": {"name": "robust", "code": "c1"},
    "released": {"items.csv": "ab" * 32},
}
BASE = Conditions(
    settings=SETTINGS,
    frames={"c1": (1, 5, 9), "c2": (0,)},
    clips={"c1": "aa", "c2": "bb"},
    prompts={"a#pos": "p1", "b#pos": "p2"},
    answered=frozenset({"c1", "c2"}),
)


def changed(**known: Any) -> Conditions:
    """The same with other settings."""
    return BASE._replace(settings={**SETTINGS, **known})


@pytest.mark.parametrize(
    ("other", "lines"),
    [
        (BASE, []),
        (changed(sampling={"rule": "midpoint", "frames": 4}), ["- sampling.rule: linspace | midpoint"]),
        (changed(settings={}), ["- settings.max_pixels: 100 | (none)"]),
        (changed(prompt={"system": "", "user": "Does the clip fit {caption}?"}), ["- prompt.user: Does the [-video-]{+clip+} fit {caption}?"]),
        (changed(prompt={"system": "Be\nbrief\u202e." , "user": SETTINGS["prompt"]["user"]}), ["- prompt.system: {+Be \N{DOWNWARDS ARROW WITH CORNER LEFTWARDS} brief[U+202E].+}"]),
        (BASE._replace(frames={"c1": (2, 6, 10), "c2": (0,)}), ["- frames: others on 1 of 2 clips; of c1: 1, 5, 9 (3) | 2, 6, 10 (3)"]),
        (BASE._replace(prompts={"a#pos": "p1", "b#pos": "p9"}), ["- prompts as they were sent: others in 1 of 2 questions"]),
        (BASE._replace(answered=frozenset({"c2"})), ["- clips missing for two alone: 1: c1"]),
        (BASE._replace(clips={"c1": "aa", "c2": "xx"}), ["- clips: other bytes in 1 of 2, the first is c2"]),
    ],
)  # fmt: skip
def test_each_kind_of_difference_has_its_line(other: Conditions, lines: list[str]) -> None:
    assert list(differences(NAMES, BASE, other)) == lines


def test_what_nobody_knows_of_imported_answers_is_not_known_rather_than_none() -> None:
    imported = {name: SETTINGS[name] for name in ("sampling", "reader", "released")}
    imported |= {"adapter": "import", "form": "entail", "files": {"a.csv": "x"}}
    other = BASE._replace(settings=imported, prompts={}).made_elsewhere()
    assert list(differences(NAMES, BASE, other)) == [
        "- frames: known | not known", "- prompt: known | not known", "- clips: known | not known",
        "- adapter: transformers | import", "- dtype: float32 | not known", "- files.a.csv: (none) | x", "- form: (none) | entail",
        "- model.repo: a/b | not known", "- model.revision: r1 | not known", "- settings.max_pixels: 100 | not known",
        "- versions.torch: 2.13 | not known",
    ]  # fmt: skip
    assert "- dtype: not known | float32" in list(differences(NAMES, other, BASE))


def outcomes(*right: float) -> pl.DataFrame:
    return pl.DataFrame({"item_id": [f"i{number}" for number in range(len(right))], "right": right})


def test_samples_are_listed_by_who_does_better() -> None:
    lines = list(items_between("mean", ("a", outcomes(3, 0, 1)), ("b", outcomes(2, 1, 1))))
    assert lines == ["mean: better by a: 1 of 3: i0", "mean: better by b: 1 of 3: i1"]
    first, better, _ = items_between("strict", ("a", outcomes(*[1.0] * 12)), ("b", outcomes(*[0.0] * 11)))
    assert first == "strict: 12 samples of a, 11 of b"
    assert better.startswith("strict: better by a: 11 of 11: i0, ") and better.endswith(
        f"i{MOST_LISTED - 1}, and 3 more"
    )


def answered(**right: list[float]) -> pl.DataFrame:
    """Samples of tests, each of a video of its own."""
    rows = [(f"{task}{number}", task, value) for task, of in right.items() for number, value in enumerate(of)]
    names, tasks, values = zip(*rows, strict=True)
    return pl.DataFrame({"item_id": names, "unit": names, "task": tasks, "right": values})


def test_the_number_that_velociti_leads_with_is_the_mean_of_its_tests_without_the_control() -> None:
    scores = load_scores("velociti").SCORES["entail"]
    ours = {"strict": answered(control=[0, 0], coref=[1, 1, 1, 1], chrono=[1, 0])}
    theirs = {"strict": answered(control=[1, 1], coref=[1, 1, 0, 0], chrono=[0, 0])}
    found = headline(scores, ours, theirs, 0.95)
    assert found is not None and found.subject == ("strict", "average of 7")
    assert found.found.difference == pytest.approx((0.5 + 0.5) / 2) and found.found.n_items == 6
    assert found.found.p == pytest.approx(2 / 2**3), "weights 1/8, 1/8 and 1/4 of three videos that differ"
    assert headline(scores, ours, {}, 0.95) is None
    of_tests = [(one.test, one.found.difference) for one in parts("strict", ours["strict"], theirs["strict"], 0.95)]
    assert of_tests == [("control", -1.0), ("coref", 0.5), ("chrono", 0.5)]


@pytest.mark.parametrize(
    ("benchmark", "form", "leads"),
    [("vinoground", "questions", "group"), ("temporalbench", "short", "mba"), ("mmbench_video", "unpacked", "mean")],
)
def test_the_other_benchmarks_lead_with_one_metric_of_all_samples(benchmark: str, form: str, leads: str) -> None:
    scores = load_scores(benchmark).SCORES[form]
    ours, theirs = ({name: answered(x=[right, right], y=[right]) for name in scores.metrics} for right in (1, 0))
    found = headline(scores, ours, theirs, 0.95)
    assert found is not None and found.subject == (leads, "all") and found.found.difference == 1


RUNS = ("b/mc/fps1/late", "b/mc/fps1/early", "b/entail/fps1/late", "b/entail/fps2/late", "c/mc/fps1/late")


@pytest.mark.parametrize(
    ("first", "second", "meant"),
    [
        ("late", "early", ("b/mc/fps1/late", "b/mc/fps1/early")),
        ("entail/fps1", "entail/fps2", ("b/entail/fps1/late", "b/entail/fps2/late")),
        ("entail", "mc", ("b/entail/fps1/late", "b/mc/fps1/early")),  # which cannot be compared, as is said then
        ("late", "nobody", ("late", "nobody")),
    ],
)
def test_two_runs_are_named_as_short_as_the_pair_is_clear(first: str, second: str, meant: tuple[str, str]) -> None:
    assert pair_of(first, second, RUNS) == meant
    with pytest.raises(UserError, match="Copy one:\n  reprise compare b/entail/fps1/late b/entail/fps2/late\n"):
        pair_of("late", "late", RUNS)
