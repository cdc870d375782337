"""Other sets of videos, as suite `construction` draws of them: one a scoring, with a few of the toy world's clips.

python -m synthetic.other_sets FOLDER
"""

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from reprise.benchmarks.mmbench_video.taxonomy import SET_OPTIONS
from reprise.benchmarks.mmbench_video.video_sets import COLUMNS
from reprise.core.files import write_text

from synthetic.toyworld.generate import Dice, evaluation_sources
from synthetic.toyworld.mmbench_video import SET_MAKERS, attribute
from synthetic.toyworld.render import write_video
from synthetic.toyworld.script import Script

OPEN, WITH_LETTERS = ("toy-own", "toy-five"), "toy-letters"
VIDEOS, OPTIONS = 2, 4
SEED = 11
DRAWS = 8
"""of an agent that is asked about"""
Row = Sequence[str]


def write_sets(folder: Path) -> None:
    """Each set's questions, and its videos in a folder beside them."""
    for number, name in enumerate((*OPEN, WITH_LETTERS)):
        chosen = scripts()[number * VIDEOS : (number + 1) * VIDEOS]
        (folder / name).mkdir(parents=True, exist_ok=True)
        for video, script in chosen:
            write_video(script, folder / name / f"{video}.mp4")
        write_text(folder / f"{name}.csv", manifest(name))


def manifest(name: str) -> str:
    """The questions of a set."""
    place = (*OPEN, WITH_LETTERS).index(name)
    chosen = scripts()[place * VIDEOS : (place + 1) * VIDEOS]
    rows = [row for one in chosen for row in (_with_letters(*one) if name == WITH_LETTERS else _open(*one))]
    buffer = io.StringIO()
    letters = SET_OPTIONS[:OPTIONS] if name == WITH_LETTERS else ()
    csv.writer(buffer, lineterminator="\n").writerows([(*COLUMNS, *letters), *rows])
    return buffer.getvalue()


def scripts() -> list[tuple[str, Script]]:
    """The last clip of every evaluation source that has a shape which only one agent has."""
    found = [list(source.clips().items())[-1] for source in evaluation_sources()]
    return [(video, script) for video, script in found if attribute(script, Dice(SEED, 0))]


def _open(video: str, script: Script) -> Iterator[Row]:
    for number, (maker, _) in enumerate(SET_MAKERS):
        made = maker(script, Dice(SEED, number))
        if made:
            yield f"{video}.mp4", *made


def _with_letters(video: str, script: Script) -> Iterator[Row]:
    """The colours of one agent and of others, one of them right."""
    asked = {made[0]: made[1] for number in range(DRAWS) if (made := attribute(script, Dice(SEED, number)))}
    for number, (question, answer) in enumerate(asked.items()):
        dice = Dice(SEED, 100 + number)
        colours = sorted({f"It is {agent.colour}." for _, other in scripts() for agent in other.agents} - {answer})
        options = dice.sample(colours, OPTIONS - 1)
        place = dice.below(OPTIONS)
        yield f"{video}.mp4", question, SET_OPTIONS[place], *options[:place], answer, *options[place:]


if __name__ == "__main__":
    write_sets(Path(sys.argv[1]))
