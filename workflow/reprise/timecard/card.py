"""A card: what was measured of one model, as it is written and read, and the keys of its stages."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from reprise.core.errors import UserError
from reprise.core.files import read_json, sealed_text, write_sealed
from reprise.core.settings import Key, KeyPart

PLANNED, SHUFFLED, REVERSED, FIRST, MIDDLE, NONE, ANOTHER = VIEWS = (
    "planned", "shuffled", "reversed", "first", "middle", "none", "another",
)  # fmt: skip
VIEW_TITLES = {
    PLANNED: "as planned",
    SHUFFLED: "frames shuffled",
    REVERSED: "frames reversed",
    FIRST: "first frame repeated",
    MIDDLE: "middle frame alone",
    NONE: "no video",
    ANOTHER: "another clip",
}
# From the least that a model is shown to all of it. The parts of a score are the steps between those that were asked.
LADDER = (NONE, MIDDLE, SHUFFLED, PLANNED)
WORDS, ONE_FRAME, SET, ORDER = "words", "one_frame", "set", "order"
PART_OF = dict(zip(LADDER, (WORDS, ONE_FRAME, SET, ORDER), strict=True))
PART_TITLES = {WORDS: "words", ONE_FRAME: "one frame", SET: "unordered frames", ORDER: "order in time"}
SHORT_TITLES = {WORDS: "words", ONE_FRAME: "one frame", SET: "more frames", ORDER: "order"}
MIXED = "mixed"
KIND_TITLES = PART_TITLES | {MIXED: "several, not told apart"}
Verdict = Literal["order", "frames", "frame", "words", "open"]
VERDICT_TITLES: dict[Verdict, str] = {
    "order": "order matters",
    "frames": "several frames matter, no use of order shown",
    "frame": "the video matters, no use of more than one frame shown",
    "words": "no use of the video shown",
    "open": "not told by what was asked",
}


class Number(KeyPart):
    """A number on the score's own scale, with its interval; without ends where one cluster tells nothing."""

    value: float
    low: float | None = None
    high: float | None = None


class Change(Number):
    """A view against the planned one, sample by sample."""

    p: float
    lost: int
    gained: int


class View(KeyPart):
    view: str
    run: str = ""
    score: Number
    change: Change | None = None  # none of the planned view, or without it


class CardPart(KeyPart):
    """A step of the ladder: what one more thing to see adds to the score. Steps that were not asked are in the next."""

    names: tuple[str, ...]
    number: Number
    p: float | None = None  # none of the first step, which is a score

    @property
    def name(self) -> str:
        return "+".join(self.names)

    @property
    def kind(self) -> str:
        """What it is drawn as: its name, or that it is several which nobody told apart."""
        return self.name if len(self.names) == 1 else MIXED

    @property
    def title(self) -> str:
        if len(self.names) == 1:
            return PART_TITLES[self.name]
        names = [SHORT_TITLES[name] for name in self.names]
        return " + ".join(names).replace(f"{SHORT_TITLES[ONE_FRAME]} + {SHORT_TITLES[SET]}", "frames")


class Published(KeyPart):
    view: str
    value: float
    source: str


class CardScore(KeyPart):
    name: str
    title: str
    protocol: str
    sampling: str
    score: str
    score_title: str
    decimals: int


class CardBenchmark(CardScore):
    best: float  # the highest score: 100, or of ratings the best one
    chance: float | None = None
    samples: int  # that every view was asked, and all numbers are of
    left_out: int  # samples that some view was not asked
    clusters: int
    views: tuple[View, ...]
    missing: dict[str, str] = Field({})  # view -> why it was not asked
    parts: tuple[CardPart, ...] = ()
    published: tuple[Published, ...] = ()
    # samples that are better as planned than in every control; None where no control was asked
    only_with_time: int | None = None
    verdict: Verdict = "open"
    sentence: str = ""

    def view(self, name: str) -> View | None:
        return next((one for one in self.views if one.view == name), None)

    def part(self, name: str) -> CardPart | None:
        return next((one for one in self.parts if one.name == name), None)

    @property
    def chance_decimals(self) -> int:
        """One more than the score's where chance has more, as 6.25."""
        is_short = self.chance is None or abs(round(self.chance, self.decimals) - self.chance) < 1e-9
        return self.decimals + (not is_short)


class CardModel(KeyPart):
    suite: str
    notice: str = ""
    level: float
    model: str
    title: str


class Card(CardModel):
    benchmarks: tuple[CardBenchmark, ...]

    @property
    def order(self) -> float | None:
        """The mean over benchmarks of the part due to order, in percent of the best score; models are sorted by it."""
        found = [100 * part.number.value / one.best for one in self.benchmarks if (part := one.part(ORDER))]
        return sum(found) / len(found) if found else None


class CardBenchmarkKey(CardScore):
    form: str  # form of question of the protocol
    group: str  # of items, over whose tasks the score is the mean
    items: Path
    statistics: Path | None = None  # where chance is counted from the data
    runs: dict[str, str] = Field({})  # view -> run
    views: dict[str, Path | None]  # view -> the verdicts on its answers; None where it was not asked
    missing: dict[str, str] = Field({})  # view -> why it was not asked
    published: tuple[Published, ...] = ()


class TimeCardKey(Key, CardModel):
    benchmarks: tuple[CardBenchmarkKey, ...]


class TimeAllKey(Key):
    suite: str
    notice: str = ""
    level: float
    models: tuple[str, ...]


def write_card(card: Card, path: Path) -> None:
    write_sealed(path, card.model_dump_json(indent=1) + "\n")


def read_card(path: Path) -> Card:
    try:
        return Card.model_validate(read_json(sealed_text(path)))
    except ValidationError as error:
        raise UserError(f"{path}: no card of this version. Delete it and run snakemake again.") from error
