"""What a suite says of a benchmark that it makes: its raw annotations, its writer, its review, its rules."""

from typing import Annotated, Literal

from pydantic import Field

from reprise.core.names import SLUG
from reprise.core.settings import Settings
from reprise.fetch.settings import ReleaseFolder, ReleaseHub, ReleaseToy

Annotations = Annotated[ReleaseToy | ReleaseFolder | ReleaseHub, Field(discriminator="kind")]


class ReviewSettings(Settings):
    """How people decide what is kept."""

    verdicts: str
    """Glob pattern of the csv or json files with people's verdicts; the tasks say which columns they have."""
    votes: int = Field(1, ge=1)
    """How many people must have judged a task; most of them must find it fit."""
    undecided: Literal["keep", "drop"] = "drop"
    """What becomes of a task that too few people have judged: `keep` makes a release that says it is not reviewed."""


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


class Constructing(Settings):
    """What the construction of every benchmark needs."""

    annotations: Annotations
    """Where the raw annotations come from."""
    files: list[str]
    """Glob patterns of their files."""
    writer: str = Field(pattern=SLUG)
    """The model that writes the texts; `run:` must select it."""
    prompts: str
    """The file of its prompts."""
    rounds: int = Field(2, ge=1, le=100)
    """How often the writer is asked: from the second time on about what could not be used, with the reason."""
    max_tokens: int = Field(256, ge=1)
    """Longest reply of the writer, in tokens."""
    review: ReviewSettings
    """The review by people."""
    seed: int = 0
    """Seed of all draws."""


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
    coreference: str = "The person who {first} is also the one who {second}."
    """Caption of the test of coreference."""


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
    captions_per_video: int = Field(5, ge=1)
    """Captions of a video that are searched, the first ones."""
    pairs: int = Field(500, ge=1)
    """Pairs of captions that are wanted of the writer; `rounds:` is the longest conversation."""
    encoder: Literal["words", "minilm"] = "words"
    """How captions are compared: `words` needs no model; `minilm` are sentence embeddings of all-MiniLM-L6-v2, kept in
    the store by text. The paper's encoder is MPNet."""
    nearest: int = Field(20, ge=1)
    """Most similar captions that people look at, for each caption of a pair."""


Construction = Annotated[VelocitiSettings | VinogroundSettings, Field(discriminator="kind")]
