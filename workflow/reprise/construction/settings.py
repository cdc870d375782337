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
    """`velociti`: from VidSitu's `vsann` and `vseg` files."""
    files: list[str] = Field(["vidsitu_annotations/**/*.json", "vseg_*.json", "vsann_*.json"])
    """Glob patterns of their files."""
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


Construction = VelocitiSettings
