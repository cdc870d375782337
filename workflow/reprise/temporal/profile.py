"""Define the temporal profile of a model (`TemporalProfile`), its file format, and the keys of its stages."""

from pathlib import Path

from pydantic import Field, ValidationError

from reprise.core.errors import UserError
from reprise.core.files import read_json, verify_sealed_text, write_sealed_text
from reprise.core.settings import Key, KeyPart
from reprise.figures.styles import ModelStyle
from reprise.temporal.rules import Outcome, Rule


class ScoreEstimate(KeyPart):
    """A score on its own scale, with its interval; `low` and `high` are None with fewer than two clusters."""

    value: float
    low: float | None = None
    high: float | None = None


class PlannedDifference(ScoreEstimate):
    """The planned score per question minus that under another condition, question by question."""

    p: float | None = None  # None below the smallest number of clusters
    outcome: Outcome
    regressions: int  # questions that score lower under the condition than as planned
    improvements: int


class ConditionResult(KeyPart):
    """A model's scores and answers under one condition."""

    condition: str
    run: str = ""
    question_score: ScoreEstimate
    headline_score: ScoreEstimate
    first_option_share: float | None = None  # percent of Yes, or of A, among parsed answers; None for other answers
    threshold_loss: float = 0.0  # points that a moved threshold for Yes or A can explain
    unparsed_share: float  # percent of the requests
    failed_share: float  # percent of the requests
    difference: PlannedDifference | None = None  # None for the planned condition, and where that was not run


class RuleVerdict(KeyPart):
    """The outcome of a rule on one benchmark."""

    rule: Rule
    outcome: Outcome
    p: float | None = None
    adjusted_p: float | None = None  # after Holm's correction over benchmarks and rules


class PublishedScore(KeyPart):
    """A score under one condition that a paper prints, with its place in the paper."""

    condition: str
    value: float
    source: str


class OrderedOnly(KeyPart):
    """Questions whose answer depends on the planned order: right as planned, and wrong both shuffled and reversed."""

    count: int
    expected: float | None = None  # number expected of a model that guesses; None without a chance level
    mirrored: int  # questions that are wrong as planned and right both shuffled and reversed


class TomatoMetrics(KeyPart):
    """The metrics of TOMATO (arXiv 2410.23266) in percent, from scores per question; None where a run is missing."""

    multi_frame_gain: float | None = None
    order_sensitivity: float | None = None
    frame_disparity: float | None = None  # of the frame with the most confident answer, not of one that people chose


class BestFrame(KeyPart):
    """Results of one position of the single-frame probe: this frame alone, of the clip and of a mismatched clip."""

    position: int  # from 1
    score: float  # per question, with this frame alone
    chosen_share: float  # percent of questions for which this frame has the most confident answer
    mismatched_chosen_share: float  # the same with the frames of a mismatched clip


class ScoreDefinition(KeyPart):
    """The headline score of a benchmark, and the run that it belongs to."""

    name: str
    title: str  # of the benchmark, and whether the run queries only its subset
    protocol: str
    sampling: str
    frames: int | None = None  # number of planned frames, if every clip has the same
    score: str
    score_title: str
    decimals: int


class BenchmarkProfile(ScoreDefinition):
    """A benchmark's scores under each condition, with its verdicts.

    The fields `question_*` describe the score per question; `best` and `chance` belong to the headline score.
    """

    best: float  # highest possible headline score: 100, or the best rating
    chance: float | None = None
    question_title: str = ""
    question_metric: str = ""  # metric under which the item browser shows the questions
    question_best: float = 100
    question_decimals: int = 1
    question_chance: float | None = None
    questions: int  # number of questions that were sent under every condition; scores per question are over these
    excluded: int  # number of questions that were not sent under every condition
    clusters: int
    effective_clusters: float  # number of clusters of equal weight that would be worth as much
    conditions: tuple[ConditionResult, ...]
    missing: dict[str, str] = Field({})  # condition -> reason why it was not run
    published: tuple[PublishedScore, ...] = ()
    ordered_only: OrderedOnly | None = None
    tomato: TomatoMetrics = TomatoMetrics()
    is_confidence_informative: bool | None = None  # None without a single-frame probe
    best_frames: tuple[BestFrame, ...] = ()  # of the single-frame probe, by position
    verdicts: tuple[RuleVerdict, ...] = ()
    problems: tuple[str, ...] = ()  # why the planned run looks broken; it then has no comparisons, verdicts or rank

    @property
    def is_usable(self) -> bool:
        """Return whether the benchmark has scores to show: it was run, and the planned run looks healthy."""
        return self.questions > 0 and not self.problems

    def condition(self, name: str) -> ConditionResult | None:
        return next((condition for condition in self.conditions if condition.condition == name), None)

    @property
    def has_probe(self) -> bool:
        """Return whether every planned frame was shown alone."""
        return self.is_confidence_informative is not None

    def outcome(self, rule: Rule) -> Outcome:
        return next((verdict.outcome for verdict in self.verdicts if verdict.rule == rule), Outcome.NOT_RUN)

    @property
    def chance_decimals(self) -> int:
        """Return the decimals of chance: one more than the score's if needed, as for 6.25."""
        is_short = self.chance is None or abs(round(self.chance, self.decimals) - self.chance) < 1e-9
        return self.decimals + (not is_short)


class ProfiledModel(KeyPart):
    """The model of a profile, and the suite that it belongs to."""

    suite: str
    notice: str = ""
    level: float  # confidence level of the intervals
    model: str
    title: str
    style: ModelStyle  # colour and marker of the planned condition


class TemporalProfile(ProfiledModel):
    """The temporal profile of a model on all benchmarks of a suite."""

    benchmarks: tuple[BenchmarkProfile, ...]

    def benchmark(self, name: str) -> BenchmarkProfile | None:
        return next((benchmark for benchmark in self.benchmarks if benchmark.name == name), None)


class BenchmarkProfileKey(ScoreDefinition):
    """What a benchmark's profile is measured from."""

    form: str  # question form of the protocol
    group: str  # group of items; the score is the mean over its tasks
    items: Path
    statistics: Path | None = None  # set if chance is computed from the data
    runs: dict[str, str] = Field({})  # condition -> run
    conditions: dict[str, Path | None]  # condition -> verdicts on its answers; None if it was not run
    probe: dict[str, tuple[Path, ...]] = Field({})  # ablation of the probe -> verdicts on each frame's answers
    missing: dict[str, str] = Field({})  # condition -> reason why it was not run
    published: tuple[PublishedScore, ...] = ()
    metrics: Path | None = None  # metrics of the planned run, which tell if it looks broken; None for a baseline


class TemporalProfileKey(Key, ProfiledModel):
    """Key of the stage that computes one model's profile."""

    benchmarks: tuple[BenchmarkProfileKey, ...]
    width: float  # of the figure, in inches


class TemporalProfilesKey(Key):
    """Key of the stage that shows the profiles of all models together."""

    suite: str
    notice: str = ""
    level: float
    width: float  # of the figure, in inches


def write_profile(profile: TemporalProfile, path: Path) -> None:
    """Write a profile as JSON, with a checksum."""
    write_sealed_text(path, profile.model_dump_json(indent=1) + "\n")


def read_profile(path: Path) -> TemporalProfile:
    """Return the profile in a file; raise a UserError if the file is damaged or from another version."""
    try:
        return TemporalProfile.model_validate(read_json(verify_sealed_text(path)))
    except ValidationError as error:
        raise UserError(
            f"{path}: not a temporal profile of this version. Delete it and run snakemake again."
        ) from error
