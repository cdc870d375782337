"""Plausible sentences for a rehearsal's captions, questions and answers; they describe no video."""

from hashlib import sha256
from typing import NamedTuple

from synthetic.toyworld.generate import Dice

SEED = 20262
WORDS: dict[str, tuple[str, ...]] = {
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
    """Who does what, and how."""

    agent: str
    manner: str
    deed: str
    times: str
    direction: str
    place: str

    def text(self) -> str:
        return f"{self.agent} {self.manner} {self.deed} {self.direction} {self.times} {self.place}"

    def but(self, part: str, dice: Dice) -> "Clause":
        """The same with one part changed."""
        others = [word for word in WORDS[part] if word != getattr(self, part)]
        return self._replace(**{part: dice.pick(others)})


def clause(dice: Dice) -> Clause:
    """One drawn clause."""
    return Clause(*(dice.pick(WORDS[part]) for part in Clause._fields))


def sentence(text: str) -> str:
    """A text as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def story(clauses: list[Clause]) -> str:
    """Clauses in order: `First, ... Then, ... Then, ...`"""
    openings = ["First", *["Then"] * (len(clauses) - 1)]
    return " ".join(f"{word}, {one.text()}." for word, one in zip(openings, clauses, strict=True))


def identifier(*parts: object) -> str:
    """An id of 11 characters, as YouTube's are."""
    return sha256(" ".join(map(str, parts)).encode()).hexdigest()[:11]


def dealt(total: int, hands: int) -> list[int]:
    """A total divided into this many parts as evenly as possible."""
    return [total // hands + (hand < total % hands) for hand in range(hands)]
