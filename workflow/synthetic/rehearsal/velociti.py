"""Write a release of VELOCITI with the paper's numbers of videos and samples (Table 11)."""

import csv
import io
import json
from pathlib import Path
from typing import NamedTuple

from reprise.core.files import write_text

from synthetic.rehearsal.words import SEED, clause, identifier, sentence, split_evenly, story
from synthetic.toyworld.generate import Dice

COLUMNS = ("test_name", "video_id", "event", "pos", "neg")
# Number of different videos. The paper counts the videos of each test.
VIDEOS = 864


class Size(NamedTuple):
    """Numbers of videos and samples of a test."""

    videos: int
    samples: int


SIZES = {
    "control": Size(850, 2635),
    "agent_random": Size(588, 873),
    "agent_bind": Size(615, 1459),
    "coref": Size(183, 339),
    "action_adv": Size(355, 438),
    "action_manner": Size(378, 458),
    "action_bind": Size(540, 1356),
    "chrono": Size(521, 1234),
}
# Test -> part of the caption that its negative changes. The negative of a control is an unrelated caption.
CHANGED = {
    "agent_random": "agent",
    "agent_bind": "agent",
    "coref": "agent",
    "action_adv": "deed",
    "action_manner": "manner",
    "action_bind": "deed",
}
ON_TWO_EVENTS = ("coref", "chrono")  # tests whose captions describe two events


def build_rows() -> list[tuple[str, str, str, str, str]]:
    """Return the rows of the release, test by test."""
    dice = Dice(SEED, 1)
    videos = [_video_id(number) for number in range(VIDEOS)]
    unique_rows: dict[tuple[str, str, str, str, str], None] = {}  # a dictionary as an ordered set
    for test, size in SIZES.items():
        for video, count in zip(dice.sample(videos, size.videos), split_evenly(size.samples, size.videos), strict=True):
            target = len(unique_rows) + count
            while len(unique_rows) < target:
                unique_rows[test, video, _event(test, dice), *_captions(test, dice)] = None
    return list(unique_rows)


def _video_id(number: int) -> str:
    """Return an id like those of VidSitu, which name a span of 10 s."""
    start = 5 * (number % 12)
    return f"v_{identifier('velociti', number)}_seg_{start}_{start + 10}"


def _event(test: str, dice: Dice) -> str:
    """Return the release's label of one event, such as `Ev3`, or of two events as a JSON list."""
    events = [f"Ev{number + 1}" for number in sorted(dice.sample(range(5), 2))]
    return json.dumps(events, separators=(",", ":")) if test in ON_TWO_EVENTS else events[0]


def _captions(test: str, dice: Dice) -> tuple[str, str]:
    """Return a true and a false caption."""
    first, second = clause(dice), clause(dice)
    if test == "chrono":
        return story([first, second]), story([second, first])
    negative = second if test == "control" else first.with_changed_part(CHANGED[test], dice)
    return sentence(first.text()), sentence(negative.text())


def write_release(folder: Path) -> None:
    """Write `velociti.csv`."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([COLUMNS, *build_rows()])
    write_text(folder / "velociti.csv", buffer.getvalue())
