"""Settings of a construction in a suite: raw annotations, writer, review and rules."""

import re
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator
from reprise.core.names import SLUG
from reprise.core.paths import find_pattern_problem
from reprise.core.settings import FilePath, Settings, setting_error
from reprise.fetch.settings import ReleaseFolder, ReleaseHub, ReleaseToy

Slug = Annotated[str, Field(pattern=SLUG)]
Annotations = Annotated[ReleaseToy | ReleaseFolder | ReleaseHub, Field(discriminator="kind")]


class ReviewSettings(Settings):
    """Review of samples by annotators."""

    verdicts: FilePath
    """Glob pattern of the csv or json files with annotators' verdicts."""
    votes: int = Field(1, ge=1)
    """Minimum number of annotators per task. A sample is kept if more than half of them accept it."""
    videos: str = "clips/{video}.mp4"
    """Path of a task's video below Label Studio's `LOCAL_FILES_DOCUMENT_ROOT`."""

    @field_validator("videos")
    @classmethod
    def _names_a_video(cls, videos: str) -> str:
        if set(re.findall(r"{(.*?)}", videos)) != {"video"}:
            raise setting_error(f"should contain {{video}} and no other placeholder, found '{videos}'.")
        return videos

    undecided: Literal["keep", "drop"] = "drop"
    """What happens to a sample with too few verdicts. With `keep`, tables say that the release was not reviewed."""


class AgreedReview(ReviewSettings):
    """Review by two or more independent annotators. Two must agree; of more, the majority decides."""

    votes: int = Field(2, ge=1)
    """Minimum number of annotators per task. A sample is kept if more than half of them accept it."""


class SubsetSearch(Settings):
    """Search for a subset of VELOCITI on which a model's score is close to that on all samples (appendix B.3)."""

    protocol: str = Field("entail", pattern=SLUG)
    """Protocol of the model's run. It must request an answer about each caption."""
    sampling: str = Field("fps1", pattern=SLUG)
    """Sampling of the model's run."""
    per_test: int = Field(150, ge=1)
    """Number of samples per test."""
    tolerance: float = Field(1.0, ge=0)
    """Largest allowed difference from the strict score on all samples, in percentage points. The paper states none."""
    tries: int = Field(1000, ge=1)
    """Maximum number of random subsets to try per test."""
    seed: int = 0
    """Seed of the random subsets."""


class BaseConstruction(Settings):
    """Settings that every construction has."""

    annotations: Annotations
    """Source of the raw annotations."""
    files: list[str]
    """Glob patterns of the annotation files."""

    @field_validator("files")
    @classmethod
    def _stay_in_folder(cls, files: list[str]) -> list[str]:
        for pattern in files or [""]:
            if problem := find_pattern_problem(pattern):
                raise setting_error(problem)
        return files

    review: ReviewSettings
    """The review by annotators."""
    seed: int = 0
    """Seed of all random choices."""


class WrittenConstruction(BaseConstruction):
    """Settings of a construction whose texts a language model writes."""

    writer: Slug
    """The model that writes the texts; `run:` must select it."""
    prompts: FilePath
    """File with the writer's prompts."""
    rounds: int = Field(2, ge=1, le=100)
    """Maximum number of rounds of requests. Later rounds repeat requests without a usable reply."""
    max_tokens: int = Field(256, ge=1)
    """Maximum length of a reply, in tokens."""


class VelocitiSettings(WrittenConstruction):
    """Construction of VELOCITI from VidSitu's semantic roles."""

    kind: Literal["velociti"]
    """`velociti`: from VidSitu's `vsann` and `vseg` files, or from csv files of events."""
    files: list[str] = Field(["vidsitu_annotations/**/*.json", "vseg_*.json", "vsann_*.json"])
    """Glob patterns of the annotation files. A csv file has one row per event: video, start, end, verb, arg0."""
    split: str = "valid"
    """VidSitu split whose videos are used."""
    videos: int | None = Field(None, ge=1)
    """Maximum number of videos; by default all."""
    per_video: int | None = Field(None, ge=1)
    """Maximum number of samples per video and test; by default all."""
    excluded_verbs: list[str] = Field([])
    """Verbs whose events are not used, such as `stand`."""


class CaptionColumns(Settings):
    """Columns of the caption files, by default those of VATEX."""

    video: str = "videoID"
    """Column of the video's id. The construction's `span:` reads video, start and end from it."""
    captions: str = "enCap"
    """Column of its captions: a list, or one text per row."""
    start: str = "start"
    """Column of the start in seconds, used only if `span:` is null. Without start and end, the clip is the whole
    file."""
    end: str = "end"
    """Column of the end in seconds."""


class WordsEncoder(Settings):
    """Encoder that compares captions by their words, without a model."""

    kind: Literal["words"]
    """`words`: words and pairs of adjacent words, weighted by their rarity."""


class CheckpointEncoder(Settings):
    """Encoder that compares captions by a checkpoint's sentence embeddings, the normalized mean of its last layer."""

    kind: Literal["checkpoint"]
    """`checkpoint`: sentence embeddings of a local checkpoint, such as the paper's MPNet."""
    folder: FilePath
    """Local folder of a transformers checkpoint, such as all-mpnet-base-v2."""
    tokens: int = Field(384, ge=3)
    """Maximum length of a text in tokens; longer texts are cut."""


Encoder = Annotated[WordsEncoder | CheckpointEncoder, Field(discriminator="kind")]


class VinogroundSettings(WrittenConstruction):
    """Construction of Vinoground from videos with captions, such as those of VATEX."""

    kind: Literal["vinoground"]
    """`vinoground`: from caption pairs by a language model, and videos with captions."""
    files: list[str] = Field(["*.json", "*.jsonl", "*.csv", "*.tsv", "*.parquet"])
    """Glob patterns of the caption files."""
    columns: CaptionColumns = CaptionColumns()
    """Columns of the caption files. The defaults were not checked against VATEX."""
    span: str | None = r"(?P<video>.+)_(?P<start>\d+)_(?P<end>\d+)"
    """Regular expression of a video's id with the groups `video`, `start` and `end` (seconds). Use null if ids are
    file names."""

    @field_validator("span")
    @classmethod
    def _has_its_groups(cls, span: str | None) -> str | None:
        if span is None:
            return span
        try:
            groups = re.compile(span).groupindex
        except re.error as error:
            raise setting_error(f"is not a regular expression: {error}.") from error
        missing = [name for name in ("video", "start", "end") if name not in groups]
        if missing:
            raise setting_error(f"group '{missing[0]}' is missing. Write (?P<{missing[0]}>...).")
        return span

    review: AgreedReview
    """The review. The paper keeps samples on which several authors agree."""
    captions_per_video: int = Field(5, ge=1)
    """Number of captions of a video, the first ones, among which similar captions are searched."""
    pairs: int = Field(500, ge=1)
    """Number of caption pairs to write within `rounds:`."""
    encoder: Encoder = WordsEncoder(kind="words")
    """Encoder that compares captions. The paper uses MPNet."""
    nearest: int = Field(20, ge=1)
    """For each caption of a pair, how many of the most similar captions annotators review."""


class TemporalBenchSettings(WrittenConstruction):
    """Construction of TemporalBench from clips of several data sets with human captions."""

    kind: Literal["temporalbench"]
    """`temporalbench`: from clips of several data sets with human captions."""
    other_writers: list[Slug] = Field([])
    """Further models that write negatives; `run:` must select them. Only `writer:` labels each word-level negative with
    its category, and writes the negatives of negatives for Table 4."""

    @field_validator("other_writers")
    @classmethod
    def _are_distinct(cls, writers: list[str], info: ValidationInfo) -> list[str]:
        for index, writer in enumerate(writers):
            if writer in (info.data.get("writer"), *writers[:index]):
                raise setting_error(f"'{writer}' is named twice. Name each writer once.")
        return writers

    files: list[str] = Field(["*annotations*.json", "*annotations*.jsonl", "*annotations*.csv"])
    """Glob patterns of the files of clips and captions (docs/construction.md)."""
    datasets: list[str] = Field(
        ["ActivityNet", "Charades", "FineGym", "Movie_Description", "Oops", "COIN", "EgoExo4D"], min_length=1
    )
    """The source data sets."""
    splits: list[str] = Field(["validation", "test"], min_length=1)
    """Splits of the source data sets whose clips are used."""
    described: list[str] = Field(["FineGym"])
    """Data sets whose original descriptions are used as captions."""
    longest_s: float = Field(20.0, gt=0)
    """Maximum length of a clip in seconds."""
    transitions: int = Field(1, ge=0)
    """Maximum scene transitions in a clip. The paper states none."""
    measured: int | None = Field(None, ge=1)
    """Maximum number of clips per data set that are fetched and measured; by default all."""
    per_dataset: int = Field(300, ge=1)
    """Number of clips per data set that get captions, drawn from those that pass the filters."""
    word_negatives: int = Field(9, ge=1)
    """Maximum negatives per caption and writer that replace a word or phrase."""
    event_negatives: int = Field(6, ge=1)
    """Maximum negatives per caption and writer that reorder events."""
    central_tries: int = Field(3, ge=1)
    """For Table 4: for how many word-level negatives of a caption `writer:` also writes two negatives each."""
    rounds: int = Field(4, ge=2, le=100)
    """Maximum number of rounds of requests per writer. The first round requests negatives. Later rounds request their
    categories, and repeat requests without a usable reply."""
    long_datasets: list[str] = Field(["ActivityNet", "Charades", "COIN", "FineGym"])
    """Data sets whose clips are combined into long videos."""
    long_clips: int | None = Field(None, ge=2)
    """Maximum clips per long video; all clips of its source by default."""
    long_negatives: int = Field(4, ge=1)
    """Number of negatives per long video."""


class StaticFilter(Settings):
    """Filter that drops questions that a model answers from one random frame."""

    model: str = Field(pattern=SLUG)
    """The model that answers from one frame (GPT-4v in the paper); `run:` must select it."""
    protocol: str = Field("unpacked", pattern=SLUG)
    """Protocol of the model's runs. The paper samples a frame per question, so each question is a separate request by
    default."""
    samplings: list[Slug] = Field(["still0", "still1", "still2", "still3"], min_length=1)
    """Samplings of one random frame, one per seed."""
    least: float = Field(2.5, ge=0, le=3)
    """A question with this mean rating (0 to 3) or a higher one is dropped."""
    verdicts: FilePath | None = None
    """Glob pattern of files with checks by annotators. If enough annotators checked a question, their majority
    decides instead of the mean rating."""

    def runs(self) -> list[str]:
        """Return the names of the runs that answer from one frame, without their benchmark."""
        return [f"{self.protocol}/{sampling}/{self.model}" for sampling in self.samplings]


class OtherSets(Settings):
    """Other sets of videos, from which questions are sampled for Table 2 of the paper."""

    folder: FilePath
    """Folder with files `<set>.csv`: columns `video`, `question` and `answer`."""
    scoring: dict[Slug, Literal["0 to 3", "0 to 5", "accuracy"]]
    """Scoring of each set, by its name."""
    count: int = Field(1000, ge=1)
    """Number of questions to sample from each set."""

    def files(self) -> dict[str, str]:
        """Return the file of questions of each set."""
        return {name: f"{self.folder}/{name}.csv" for name in self.scoring}


class MmbenchVideoSettings(BaseConstruction):
    """Construction of MMBench-Video from a list of videos and annotators' questions about them."""

    kind: Literal["mmbench_video"]
    """`mmbench_video`: from `collection.csv` and `questions/*.csv`."""
    files: list[str] = Field(["collection.csv", "questions/*.csv"])
    """Glob patterns of the annotation files."""
    categories: list[str] | None = None
    """Allowed categories of videos, by default any."""
    shortest_s: float = Field(30, ge=0)
    """Minimum length of a collected video in seconds."""
    longest_s: float = Field(360, gt=0)
    """Maximum length of a clip in seconds."""
    question_words: int = Field(3, ge=1)
    """Minimum number of words in a question."""
    answer_words: int = Field(1, ge=1)
    """Minimum number of words in an answer."""
    static: StaticFilter | None = None
    """Filter that drops questions that a model answers from one frame."""
    other_sets: OtherSets | None = None
    """Other sets of videos from which questions are sampled."""


Construction = Annotated[
    VelocitiSettings | VinogroundSettings | TemporalBenchSettings | MmbenchVideoSettings, Field(discriminator="kind")
]


def writers_of(settings: WrittenConstruction) -> list[str]:
    """Return the models that write a benchmark's texts, `writer:` first."""
    return [settings.writer, *(settings.other_writers if isinstance(settings, TemporalBenchSettings) else [])]
