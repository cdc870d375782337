"""The single-frame probe: the choice of the most confident frame, and a worked example on VELOCITI's captions."""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest
from reprise.core.schemas import ITEMS, VERDICTS, write_table
from reprise.media.ablations import FRAME, FRAME_REPEATED, MISMATCHED_FRAME, MISMATCHED_FRAME_REPEATED, place_frames
from reprise.temporal.conditions import BEST_FRAME, BEST_FRAMES, CONDITIONS, MISMATCHED_BEST, PLANNED
from reprise.temporal.findings import describe_benchmark
from reprise.temporal.marks import Mark, choose_mark
from reprise.temporal.measure import build_profile
from reprise.temporal.read import choose_frames
from reprise.temporal.rules import PROBE_RULES, Outcome

from tests.unit.rows import item_row, verdict_row
from tests.unit.temporal.profile_inputs import key_of

Scores = Sequence[tuple[float, float]]  # of the positive and the negative caption of each item


def write_scores(path: Path, scores: Scores) -> Path:
    rows = [
        {**verdict_row(f"q{number}#{role}", right=(score > 0.5) == (role == "pos")), "role": role, "score": score}
        for number, pair in enumerate(scores)
        for role, score in zip(("pos", "neg"), pair, strict=True)
    ]
    write_table(pl.DataFrame(rows, schema=VERDICTS), path, VERDICTS)
    return path


def test_the_earliest_of_equally_confident_frames_is_chosen() -> None:
    frames = [
        pl.DataFrame({"item_id": ["a", "b", "c"], "confidence": row}) for row in ([0.2, None, 0.1], [0.2, 0.0, 0.3])
    ]
    assert sorted(choose_frames(frames).iter_rows()) == [("a", 0), ("b", 1), ("c", 1)]


@pytest.mark.parametrize(
    ("show", "placement"),
    [(FRAME, [(1, 1)]), (MISMATCHED_FRAME, [(1, 1)]), (FRAME_REPEATED, [(0, 1), (1, 1), (2, 1)])],
)
def test_one_frame_is_shown_once_or_repeated(show: str, placement: list[tuple[int, int]]) -> None:
    assert place_frames({"show": show, "position": 2}, [10, 20, 30], "clip", None)[0] == placement


def test_a_short_clip_shows_its_last_frame() -> None:
    assert place_frames({"show": FRAME_REPEATED, "position": 3}, [10, 20], "clip", None)[0] == [(0, 1), (1, 1)]


def score_items(count: int, is_right: Callable[[int], bool]) -> Scores:
    """Return scores of items; right answers are more confident than wrong ones."""
    return [(0.8, 0.2) if is_right(number % 20) else (0.45, 0.55) for number in range(count)]


def test_the_mark_of_the_best_frame_says_only_that_its_score_is_lower(tmp_path: Path) -> None:
    """The planned frames gain 20 points over the best frame, but so does this over that of a mismatched clip."""
    items = [item_row(f"q{number}", clip_id=f"v{number}", cluster=f"v{number}", task="coref") for number in range(200)]
    write_table(pl.DataFrame(items, schema=ITEMS), tmp_path / "items.parquet", ITEMS)
    rules: dict[str, Callable[[int], bool]] = {
        PLANNED: lambda number: number < 18,
        "ablation": lambda number: number % 2 == 0,
        "frame1": lambda number: number < 8,
        "frame2": lambda number: 8 <= number < 14,
        "foreign": lambda number: number < 10,
    }
    files = {name: write_scores(tmp_path / name, score_items(200, rule)) for name, rule in rules.items()}
    own, foreign = (files["frame1"], files["frame2"]), (files["foreign"], files["foreign"])
    key = key_of(
        tmp_path / "items.parquet", dict.fromkeys(CONDITIONS, files["ablation"]) | {PLANNED: files[PLANNED]},
        name="velociti", form="entail", score="classic", group="average",
        probe={FRAME: own, FRAME_REPEATED: own, MISMATCHED_FRAME: foreign, MISMATCHED_FRAME_REPEATED: foreign},
    )  # fmt: skip
    (benchmark,) = build_profile(key)[0].benchmarks
    best = benchmark.condition(BEST_FRAME)
    assert best and best.difference and round(best.difference.value) == 20
    assert best.difference.outcome in (Outcome.TOO_FEW, Outcome.NOT_SHOWN)
    assert choose_mark(benchmark, best) == Mark.LOWER
    sentence = next(line for line in describe_benchmark(benchmark) if "needs several frames" in line)
    assert sentence.startswith("Too few clips to tell: needs several frames; as planned +20.0 [")
    assert sentence.endswith("This must exceed the gain of that frame over the best one of a mismatched clip, +20.0.")


def test_worked_example(tmp_path: Path) -> None:
    """Of two items, the first is decided by frame 2 and the second by none; frame 1 is wrong about the first."""
    items = pl.DataFrame(
        [
            item_row(f"q{number}", clip_id=f"v{number}.c", cluster=f"v{number}", task="agent_random")
            for number in range(2)
        ],
        schema=ITEMS,
    )
    write_table(items, tmp_path / "items.parquet", ITEMS)
    scores_by_file: dict[str, Scores] = {
        PLANNED: [(0.9, 0.2), (0.8, 0.3)],
        "none": [(0.5, 0.5), (0.5, 0.5)],
        "frame1": [(0.4, 0.5), (0.5, 0.6)],  # both wrong, with confidence 0.1
        "frame2": [(0.9, 0.3), (0.5, 0.55)],  # right with confidence 0.6; wrong with 0.05
        "foreign": [(0.5, 0.5), (0.6, 0.5)],
    }
    files = {name: write_scores(tmp_path / f"{name}.parquet", scores) for name, scores in scores_by_file.items()}
    conditions = {name: files.get(name, files["frame1"]) for name in CONDITIONS} | {"middle": files["frame2"]}
    own, foreign = (files["frame1"], files["frame2"]), (files["foreign"], files["foreign"])
    key = key_of(
        tmp_path / "items.parquet", conditions, name="velociti", form="entail", score="classic", group="average",
        probe={FRAME: own, FRAME_REPEATED: own, MISMATCHED_FRAME: foreign, MISMATCHED_FRAME_REPEATED: foreign},
    )  # fmt: skip
    profile, _ = build_profile(key)
    (benchmark,) = profile.benchmarks
    scores = {name: benchmark.condition(name) for name in BEST_FRAMES}
    values = {name: result.question_score.value for name, result in scores.items() if result}
    assert values[BEST_FRAME] == 50.0, "frame 2 for the first item, frame 1 for the second"
    assert values[MISMATCHED_BEST] == 50.0
    assert benchmark.tomato.frame_disparity == 0.0, "50 / 50 - 1"
    assert [(frame.score, frame.chosen_share) for frame in benchmark.best_frames] == [(0.0, 50.0), (50.0, 50.0)]
    assert [frame.mismatched_chosen_share for frame in benchmark.best_frames] == [100.0, 0.0], "ties: the first frame"
    assert {benchmark.outcome(rule) for rule in PROBE_RULES} <= {Outcome.TOO_FEW, Outcome.NOT_MEASURED}, "two clusters"
