"""Generate plausible sentences for captions, questions and answers of a rehearsal. They describe no real video."""

from hashlib import sha256
from typing import NamedTuple

from synthetic.toyworld.generate import Dice

SEED = 20262  # arbitrary; fixed so that every rehearsal writes the same files
WORDS: dict[str, tuple[str, ...]] = {  # part of a clause -> texts to choose from
    "agent": (
        *("a man in a grey suit", "a woman in a red coat", "an old man with a cane", "a girl with long braids"),
        *("the boy in the striped shirt", "a tall waiter", "the woman with the umbrella", "a bearded sailor"),
        *("the nurse in white", "a dancer in blue shoes", "the man with the guitar", "a child on roller skates"),
    ),
    "manner": ("slowly", "quickly", "gently", "angrily", "carefully", "nervously", "suddenly", "calmly"),
    "deed": (
        *("opens the window", "lifts a wooden box", "pours water", "throws a ball", "folds the letter", "pulls a rope"),
        *(
            "pushes the cart",
            "waves a flag",
            "stirs the soup",
            "climbs the ladder",
            "kicks the door",
            "rolls the dough",
        ),
        *("turns the wheel", "drops the keys", "hugs a friend", "cuts the bread"),
    ),
    "times": ("once", "twice", "three times", "four times", "five times"),
    "direction": ("to the left", "to the right", "from top to bottom", "from bottom to top", "towards the camera"),
    "place": (
        *("in the kitchen", "at the station", "on the beach", "in a crowded street", "near the old bridge"),
        *("behind the counter", "under a large tree", "in front of the mirror"),
    ),
}


class Clause(NamedTuple):
    """A statement of who does what, and how."""

    agent: str
    manner: str
    deed: str
    times: str
    direction: str
    place: str

    def text(self) -> str:
        return f"{self.agent} {self.manner} {self.deed} {self.direction} {self.times} {self.place}"

    def with_changed_part(self, part: str, dice: Dice) -> "Clause":
        """Return the clause with one part changed."""
        alternatives = [word for word in WORDS[part] if word != getattr(self, part)]
        return self._replace(**{part: dice.pick(alternatives)})


def clause(dice: Dice) -> Clause:
    """Return a random clause."""
    return Clause(*(dice.pick(WORDS[part]) for part in Clause._fields))


def sentence(text: str) -> str:
    """Return a text as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def story(clauses: list[Clause]) -> str:
    """Join clauses in order, as in `First, ... Then, ... Then, ...`."""
    openings = ["First", *["Then"] * (len(clauses) - 1)]
    return " ".join(f"{word}, {clause.text()}." for word, clause in zip(openings, clauses, strict=True))


def identifier(*parts: object) -> str:
    """Return an id of 11 characters, like those of YouTube."""
    return sha256(" ".join(map(str, parts)).encode()).hexdigest()[:11]


def split_evenly(total: int, parts: int) -> list[int]:
    """Divide a total into this many parts as evenly as possible."""
    return [total // parts + (part < total % parts) for part in range(parts)]
