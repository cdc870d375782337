"""Settings of a construction in a suite: raw annotations, writer, review and rules."""

import re
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator
from reprise.core.names import SLUG
from reprise.core.paths import pattern_problem
from reprise.core.settings import FilePath, Settings, mistake
from reprise.fetch.settings import ReleaseFolder, ReleaseHub, ReleaseToy

Slug = Annotated[str, Field(pattern=SLUG)]
Annotations = Annotated[ReleaseToy | ReleaseFolder | ReleaseHub, Field(discriminator="kind")]


class ReviewSettings(Settings):
    """How people decide what is kept."""

    verdicts: FilePath
    """Glob pattern of the csv or json files with people's verdicts; the tasks say which columns they have."""
    votes: int = Field(1, ge=1)
    """How many people must have judged a task; most of them must find it fit."""
    videos: str = "clips/{video}.mp4"
    """Where Label Studio finds a task's video, below its `LOCAL_FILES_DOCUMENT_ROOT`; `{video}` is a column."""

    @field_validator("videos")
    @classmethod
    def _names_a_video(cls, videos: str) -> str:
        if set(re.findall(r"{(.*?)}", videos)) != {"video"}:
            raise mistake(f"should have {{video}} and nothing else in braces, found '{videos}'.")
        return videos

    undecided: Literal["keep", "drop"] = "drop"
    """What becomes of a task that too few people have judged: `keep` makes a release that says it is not reviewed."""


class AgreedReview(ReviewSettings):
    """How people decide what is kept where several of them must agree independently."""

    votes: int = Field(2, ge=1)
    """How many people must have judged a task; most of them must find it fit, so that two must agree."""


class SubsetSearch(Settings):
    """The search for a subset of VELOCITI on which a model scores as on the whole (appendix B.3 of its paper)."""

    protocol: str = Field("entail", pattern=SLUG)
    """The protocol of the model's run, one that asks about both captions."""
    sampling: str = Field("fps1", pattern=SLUG)
    """Its sampling of frames."""
    per_test: int = Field(150, ge=1)
    """Samples of each test."""
    tolerance: float = Field(1.0, ge=0)
    """How far its strict score may be from that of all samples, in percentage points; the paper does not say."""
    tries: int = Field(1000, ge=1)
    """Most draws of a test."""
    seed: int = 0
    """Seed of the draws."""


class Making(Settings):
    """What the construction of every benchmark needs."""

    annotations: Annotations
    """Where the raw annotations come from."""
    files: list[str]
    """Glob patterns of their files."""

    @field_validator("files")
    @classmethod
    def _stay_inside(cls, files: list[str]) -> list[str]:
        for pattern in files or [""]:
            if problem := pattern_problem(pattern):
                raise mistake(problem)
        return files

    review: ReviewSettings
    """The review by people."""
    seed: int = 0
    """Seed of all draws."""


class Constructing(Making):
    """What the construction of a benchmark needs whose texts a language model writes."""

    writer: Slug
    """The model that writes the texts; `run:` must select it."""
    prompts: FilePath
    """The file of its prompts."""
    rounds: int = Field(2, ge=1, le=100)
    """How often the writer is asked: from the second time on about what could not be used, with the reason."""
    max_tokens: int = Field(256, ge=1)
    """Longest reply of the writer, in tokens."""


class VelocitiSettings(Constructing):
    """VELOCITI, from VidSitu's semantic roles."""

    kind: Literal["velociti"]
    """`velociti`: from VidSitu's `vsann` and `vseg` files, or from csv files of events."""
    files: list[str] = Field(["vidsitu_annotations/**/*.json", "vseg_*.json", "vsann_*.json"])
    """Glob patterns of their files; csv files hold a row an event: video, start, end, verb, arg0."""
    split: str = "valid"
    """Split of VidSitu whose videos are used."""
    videos: int | None = Field(None, ge=1)
    """Most videos, drawn by the seed; by default all."""
    per_video: int | None = Field(None, ge=1)
    """Most samples of a video for each test, drawn by the seed; by default all."""
    verbs_left_out: list[str] = Field([])
    """Verbs whose events are not used, such as `stand`: what is no action cannot be told apart by actions."""


class Columns(Settings):
    """Columns of VATEX's annotations."""

    video: str = "videoID"
    """The video's id, which `span:` reads."""
    captions: str = "enCap"
    """Its captions: a list, or one text a row."""
    start: str = "start"
    """Where it starts, in seconds; read only where `span:` is null, and may be left out: the whole file."""
    end: str = "end"
    """Where it ends."""


class WordsEncoder(Settings):
    """Captions are compared by their words, which needs no model."""

    kind: Literal["words"]
    """`words`: words and pairs of neighbouring words, weighted by how rare they are."""


class CheckpointEncoder(Settings):
    """Captions are compared by a checkpoint: the mean of its last layer over all tokens, scaled to length 1."""

    kind: Literal["checkpoint"]
    """`checkpoint`: sentence embeddings of a folder, such as the paper's MPNet."""
    folder: FilePath
    """Folder of a transformers checkpoint with its tokenizer, such as all-mpnet-base-v2; it is not fetched."""
    tokens: int = Field(384, ge=3)
    """Longest text in tokens, what marks its ends included; the rest is cut. 384 is what all-mpnet-base-v2 has."""


Encoder = Annotated[WordsEncoder | CheckpointEncoder, Field(discriminator="kind")]


class VinogroundSettings(Constructing):
    """Vinoground, from videos with captions such as VATEX's."""

    kind: Literal["vinoground"]
    """`vinoground`: from a language model's pairs of captions, and videos with captions."""
    files: list[str] = Field(["*.json", "*.jsonl", "*.csv", "*.tsv", "*.parquet"])
    """Glob patterns of the files of captions."""
    columns: Columns = Columns()
    """Their columns. How VATEX calls them could not be checked: the defaults are as other projects read it."""
    span: str | None = r"(?P<video>.+)_(?P<start>\d+)_(?P<end>\d+)"
    """Regular expression of a video's id, with the groups `video`, `start` and `end` (seconds); null where ids are
    names of files."""

    @field_validator("span")
    @classmethod
    def _has_its_groups(cls, span: str | None) -> str | None:
        if span is None:
            return span
        try:
            groups = re.compile(span).groupindex
        except re.error as error:
            raise mistake(f"no regular expression: {error}.") from error
        missing = [name for name in ("video", "start", "end") if name not in groups]
        if missing:
            raise mistake(f"has no group '{missing[0]}'. Write (?P<{missing[0]}>...).")
        return span

    review: AgreedReview
    """The review by people. The paper keeps what several of its authors independently agree on."""
    captions_per_video: int = Field(5, ge=1)
    """Captions of a video that are searched, the first ones."""
    pairs: int = Field(500, ge=1)
    """Pairs of captions that are wanted of the writer; `rounds:` is the longest conversation."""
    encoder: Encoder = WordsEncoder(kind="words")
    """How captions are compared. Embeddings of a model are kept in the store by text. The paper's encoder is MPNet."""
    nearest: int = Field(20, ge=1)
    """Most similar captions that people look at, for each caption of a pair."""


class TemporalBenchSettings(Constructing):
    """TemporalBench, from clips of several data sets and people's captions of them."""

    kind: Literal["temporalbench"]
    """`temporalbench`: from clips of several data sets, with captions by people."""
    other_writers: list[Slug] = Field([])
    """Models that write negatives too; `run:` must select them. `writer:` alone names the categories of what all wrote,
    and writes the negatives of negatives."""

    @field_validator("other_writers")
    @classmethod
    def _are_others(cls, writers: list[str], info: ValidationInfo) -> list[str]:
        for index, writer in enumerate(writers):
            if writer in (info.data.get("writer"), *writers[:index]):
                raise mistake(f"'{writer}' writes already. Name each writer once.")
        return writers

    files: list[str] = Field(["*annotations*.json", "*annotations*.jsonl", "*annotations*.csv"])
    """Glob patterns of the files of clips and captions, whose columns are stated in docs/construction.md."""
    datasets: list[str] = Field(
        ["ActivityNet", "Charades", "FineGym", "Movie_Description", "Oops", "COIN", "EgoExo4D"], min_length=1
    )
    """The source data sets."""
    splits: list[str] = Field(["validation", "test"], min_length=1)
    """The parts of them that clips are from."""
    described: list[str] = Field(["FineGym"])
    """Data sets whose own descriptions are the captions."""
    longest_s: float = Field(20.0, gt=0)
    """Seconds of the longest clip."""
    transitions: int = Field(1, ge=0)
    """Most changes of the scene in a clip, as `fact_settings.shots` finds them. The paper does not say it."""
    measured: int | None = Field(None, ge=1)
    """Clips of each data set that are fetched and measured, drawn by the seed; by default all."""
    per_dataset: int = Field(300, ge=1)
    """Clips of each data set that are captioned, drawn by the seed from those that the filters leave."""
    word_negatives: int = Field(9, ge=1)
    """Most negatives of a caption by each writer in which a word or a phrase is replaced."""
    event_negatives: int = Field(6, ge=1)
    """Most negatives of a caption by each writer in which events are in another order."""
    central_tries: int = Field(3, ge=1)
    """Word-level negatives of a caption of which `writer:` makes negatives in turn, for Table 4: the first one that
    people leave, with what was made of it, is N1(C)."""
    rounds: int = Field(4, ge=2, le=100)
    """How often each writer is asked: for negatives first, then for their categories and for what could not be used."""
    long_datasets: list[str] = Field(["ActivityNet", "Charades", "COIN", "FineGym"])
    """Data sets whose clips are joined to long videos."""
    long_clips: int | None = Field(None, ge=2)
    """Most clips of a long video, drawn by the seed; by default all of its source."""
    long_negatives: int = Field(4, ge=1)
    """Negatives of a long video."""


class StaticFilter(Settings):
    """Questions that a model answers from one random frame are dropped."""

    model: str = Field(pattern=SLUG)
    """The model that is shown the frame, in GPT-4v's place; `run:` must select it."""
    protocol: str = Field("unpacked", pattern=SLUG)
    """How it is asked; its answers go to the benchmark's judge. The paper samples a frame for each question, so by
    default each question is asked alone."""
    samplings: list[Slug] = Field(["still0", "still1", "still2", "still3"], min_length=1)
    """The random frames, one sampling a seed."""
    least: float = Field(2.5, ge=0, le=3)
    """Mean rating, 0 to 3, from which a question is dropped."""
    verdicts: FilePath | None = None
    """Glob pattern of the files in which people check by hand; what most of them say counts, not the rating."""

    def runs(self) -> list[str]:
        return [f"{self.protocol}/{sampling}/{self.model}" for sampling in self.samplings]


class OtherSets(Settings):
    """Other sets of videos, of which questions are drawn for the table of temporal indispensability."""

    folder: FilePath
    """Folder of their questions, a csv file `<set>.csv` each, with the columns `video`, `question` and `answer`."""
    scoring: dict[Slug, Literal["0 to 3", "0 to 5", "accuracy"]]
    """The sets, and how each is scored."""
    count: int = Field(1000, ge=1)
    """Questions that are drawn of each."""

    def files(self) -> dict[str, str]:
        """Return the file of questions of each set."""
        return {name: f"{self.folder}/{name}.csv" for name in self.scoring}


class MmbenchVideoSettings(Making):
    """MMBench-Video, from a list of videos and the questions that annotators wrote about them."""

    kind: Literal["mmbench_video"]
    """`mmbench_video`: from `collection.csv` and `questions/*.csv`."""
    files: list[str] = Field(["collection.csv", "questions/*.csv"])
    """Glob patterns of their files."""
    categories: list[str] | None = None
    """The categories of videos; by default any. The paper has 16, in a figure."""
    shortest_s: float = Field(30, ge=0)
    """Shortest video that is collected, in seconds."""
    longest_s: float = Field(360, gt=0)
    """Longest clip of a video that questions are asked about, in seconds."""
    question_words: int = Field(3, ge=1)
    """Fewest words of a question."""
    answer_words: int = Field(1, ge=1)
    """Fewest words of an answer."""
    static: StaticFilter | None = None
    """The filter of questions that one frame answers; without it there is none."""
    other_sets: OtherSets | None = None
    """Other sets to draw questions of; without it none."""


Construction = Annotated[
    VelocitiSettings | VinogroundSettings | TemporalBenchSettings | MmbenchVideoSettings, Field(discriminator="kind")
]


def writers_of(how: Constructing) -> list[str]:
    return [how.writer, *(how.other_writers if isinstance(how, TemporalBenchSettings) else [])]
