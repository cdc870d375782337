"""Define the temporal profile of a model (`TemporalProfile`), its file format, and the keys of its stages."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from reprise.core.errors import UserError
from reprise.core.files import read_json, verify_sealed_text, write_sealed_text
from reprise.core.settings import Key, KeyPart

PLANNED, SHUFFLED, REVERSED, FIRST, MIDDLE, NONE, MISMATCHED = CONDITIONS = (
    "planned", "shuffled", "reversed", "first", "middle", "none", "mismatched",
)  # fmt: skip
CONDITION_TITLES = {
    PLANNED: "as planned",
    SHUFFLED: "frames shuffled",
    REVERSED: "frames reversed",
    FIRST: "first frame repeated",
    MIDDLE: "middle frame alone",
    NONE: "no video",
    MISMATCHED: "mismatched clip",
}
# From no video to the whole clip. A part of a score is the step between two consecutive ablations that were run.
LADDER = (NONE, MIDDLE, SHUFFLED, PLANNED)
WORDS, ONE_FRAME, SET, ORDER = "words", "one_frame", "set", "order"
PART_OF = dict(zip(LADDER, (WORDS, ONE_FRAME, SET, ORDER), strict=True))
PART_TITLES = {WORDS: "words", ONE_FRAME: "one frame", SET: "unordered frames", ORDER: "order in time"}
SHORT_TITLES = {WORDS: "words", ONE_FRAME: "one frame", SET: "more frames", ORDER: "order"}
MIXED = "mixed"
KIND_TITLES = PART_TITLES | {MIXED: "several parts together"}
Verdict = Literal["order", "frames", "frame", "words", "open"]
VERDICT_TITLES: dict[Verdict, str] = {
    "order": "order matters",
    "frames": "several frames matter, no use of order shown",
    "frame": "the video matters, no use of more than one frame shown",
    "words": "no use of the video shown",
    "open": "undecided by the conditions that were run",
}


class ScoreEstimate(KeyPart):
    """A number on the score's own scale, with its interval; `low` and `high` are None with fewer than two clusters."""

    value: float
    low: float | None = None
    high: float | None = None


class Change(ScoreEstimate):
    """The paired difference between an ablation and the planned condition, over the same samples."""

    p: float
    regressions: int
    improvements: int


class ConditionResult(KeyPart):
    condition: str
    run: str = ""
    score: ScoreEstimate
    change: Change | None = None  # None for the planned condition, and where that condition was not run


class ProfilePart(KeyPart):
    """A part of a score: what one more step of the ladder adds. A step that was not run is merged into the next one."""

    names: tuple[str, ...]
    number: ScoreEstimate
    p: float | None = None  # None for the first step, which is a score

    @property
    def name(self) -> str:
        return "+".join(self.names)

    @property
    def kind(self) -> str:
        """Return the key of the part's colour: its name, or `MIXED` if it merges several steps."""
        return self.name if len(self.names) == 1 else MIXED

    @property
    def title(self) -> str:
        if len(self.names) == 1:
            return PART_TITLES[self.name]
        names = [SHORT_TITLES[name] for name in self.names]
        return " + ".join(names).replace(f"{SHORT_TITLES[ONE_FRAME]} + {SHORT_TITLES[SET]}", "frames")


class PublishedScore(KeyPart):
    condition: str
    value: float
    source: str


class ScoreDefinition(KeyPart):
    name: str
    title: str
    protocol: str
    sampling: str
    score: str
    score_title: str
    decimals: int


class BenchmarkProfile(ScoreDefinition):
    best: float  # the highest possible score: 100, or the best rating
    chance: float | None = None
    samples: int  # samples that were run under every condition; all numbers are over these
    excluded: int  # samples that were not run under every condition
    clusters: int
    conditions: tuple[ConditionResult, ...]
    missing: dict[str, str] = Field({})  # condition -> reason why it was not run
    parts: tuple[ProfilePart, ...] = ()
    published: tuple[PublishedScore, ...] = ()
    # Samples that score higher as planned than under every ablation; None if no ablation was run.
    only_as_planned: int | None = None
    verdict: Verdict = "open"
    sentence: str = ""

    def condition(self, name: str) -> ConditionResult | None:
        return next((condition for condition in self.conditions if condition.condition == name), None)

    def part(self, name: str) -> ProfilePart | None:
        return next((part for part in self.parts if part.name == name), None)

    @property
    def chance_decimals(self) -> int:
        """Return the decimals of chance: one more than the score's if needed, as for 6.25."""
        is_short = self.chance is None or abs(round(self.chance, self.decimals) - self.chance) < 1e-9
        return self.decimals + (not is_short)


class ProfiledModel(KeyPart):
    suite: str
    notice: str = ""
    level: float
    model: str
    title: str


class TemporalProfile(ProfiledModel):
    benchmarks: tuple[BenchmarkProfile, ...]

    @property
    def order_share(self) -> float | None:
        """Return the mean part due to order, in percent of the best score; models are sorted by it."""
        shares = [
            100 * part.number.value / benchmark.best for benchmark in self.benchmarks if (part := benchmark.part(ORDER))
        ]
        return sum(shares) / len(shares) if shares else None


class BenchmarkProfileKey(ScoreDefinition):
    form: str  # question form of the protocol
    group: str  # group of items; the score is the mean over its tasks
    items: Path
    statistics: Path | None = None  # set if chance is computed from the data
    runs: dict[str, str] = Field({})  # condition -> run
    conditions: dict[str, Path | None]  # condition -> verdicts on its answers; None if it was not run
    missing: dict[str, str] = Field({})  # condition -> reason why it was not run
    published: tuple[PublishedScore, ...] = ()


class TemporalProfileKey(Key, ProfiledModel):
    benchmarks: tuple[BenchmarkProfileKey, ...]


class TemporalProfilesKey(Key):
    suite: str
    notice: str = ""
    level: float
    models: tuple[str, ...]


def write_profile(profile: TemporalProfile, path: Path) -> None:
    write_sealed_text(path, profile.model_dump_json(indent=1) + "\n")


def read_profile(path: Path) -> TemporalProfile:
    try:
        return TemporalProfile.model_validate(read_json(verify_sealed_text(path)))
    except ValidationError as error:
        raise UserError(
            f"{path}: not a temporal profile of this version. Delete it and run snakemake again."
        ) from error
