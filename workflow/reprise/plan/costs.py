"""What asking will take, from what it took before: tokens, and a range of seconds that says how sure it is.

What nobody measured is None, and never 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Literal, NamedTuple

import polars as pl

Sure = Literal["itself", "benchmark", "model"]
"""from the run itself, from a run of its model that asks the like of the same videos, from another run of its model"""
# Nobody measured how far runs lie apart: a range from another run is this many times wider, each way, by convention.
WIDTHS: Mapping[Sure, float] = {"itself": 1.0, "benchmark": 1.5, "model": 2.0}
# The true mean lies within as many standard errors, 19 times in 20.
STANDARD_ERRORS = 2.0


class Load(NamedTuple):
    """What there is to ask."""

    questions: int
    clips: int
    frames: float | None
    """of all clips together, each clip's counted once; None where nobody knows"""

    @property
    def frames_a_clip(self) -> float | None:
        return self.frames / self.clips if self.frames is not None and self.clips else None


class Measured(NamedTuple):
    """What a run took, over those of its clips whose times are known."""

    load: Load
    once_s: float
    """of what is done once a clip while the device works on nothing else: waiting for its frames, encoding them"""
    asking_s: float
    is_encoded_once: bool
    tokens: float | None = None
    """of a prompt, in the mean"""
    error: float | None = None
    """standard error of its clips' mean time, as a share of it"""


class Range(NamedTuple):
    """Seconds, from and to."""

    low: float
    high: float


class Estimate(NamedTuple):
    """How long asking will take, and how sure that is."""

    seconds: Range
    sure: Sure


def measured(timings: pl.DataFrame, frames: Mapping[str, int], tokens: float | None) -> Measured | None:
    """What a run's table of timings says; `frames` of each clip. None where no time is known."""
    known = timings.filter(
        pl.col("seconds").is_not_null(), pl.col("requests") > 0, pl.col("clip_id").is_in(list(frames))
    )
    if known.is_empty():
        return None
    rows = known.with_columns(pl.col("seconds", "waiting", "encode").fill_null(0.0))
    each = (rows["seconds"] + rows["waiting"]).to_list()
    encoded = float(rows["encode"].sum())
    return Measured(
        Load(int(rows["requests"].sum()), rows.height, sum(frames[clip] for clip in rows["clip_id"])),
        once_s=encoded + float(rows["waiting"].sum()),
        asking_s=float(rows["seconds"].sum()) - encoded,
        is_encoded_once=encoded > 0,
        tokens=tokens,
        error=stdev(each) / fmean(each) / len(each) ** 0.5 if len(each) > 1 and sum(each) > 0 else None,
    )


def estimate(load: Load, found: Mapping[Sure, Sequence[Measured]]) -> Estimate | None:
    """How long this will take, by the surest of what was found; None where none of it says anything."""
    if not load.questions:
        return Estimate(Range(0.0, 0.0), "itself")
    for sure, width in WIDTHS.items():
        spans = []
        for one in found.get(sure, ()):
            took = seconds_by(one, load)
            if took is not None:  # it may take more, or less, by at least as much as the run's own clips differ
                own = WIDTHS["benchmark"] if one.error is None else 1 + STANDARD_ERRORS * one.error
                spans.append(Range(took / max(width, own), took * max(width, own)))
        if spans:  # where they disagree, the range holds them all
            return Estimate(Range(min(span.low for span in spans), max(span.high for span in spans)), sure)
    return None


def seconds_by(one: Measured, load: Load) -> float | None:
    """How long this takes by what one run took; None where that run says nothing of it.

    What is done once a clip grows with its frames; so do its questions, unless the clip is encoded once for all.
    """
    longer = _longer(one, load)
    if longer is None or not one.load.questions:
        return None
    once = one.once_s / one.load.clips * load.clips * longer
    asking = one.asking_s / one.load.questions * load.questions
    return once + asking * (1 if one.is_encoded_once else longer)


def tokens_by(load: Load, found: Iterable[Measured]) -> float | None:
    """Tokens of all prompts, in the mean of what was found; those of the text are taken to grow with the frames too."""
    if not load.questions:
        return 0.0
    sums = [
        one.tokens * load.questions * longer
        for one in found
        if one.tokens is not None and (longer := _longer(one, load)) is not None
    ]
    return fmean(sums) if sums else None


def _longer(one: Measured, load: Load) -> float | None:
    """How many times as many frames a clip has; None between runs of which one is blind, or that nobody knows."""
    mine, other = load.frames_a_clip, one.load.frames_a_clip
    if mine is None or other is None or (mine == 0) != (other == 0):
        return None
    return mine / other if other else 1.0
