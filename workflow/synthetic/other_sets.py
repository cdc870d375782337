"""Write other video sets for suite `construction`: one per scoring, with a few clips of the toy world.

python -m synthetic.other_sets FOLDER
"""

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from reprise.benchmarks.mmbench_video.taxonomy import SET_OPTION_LETTERS
from reprise.benchmarks.mmbench_video.video_sets import COLUMNS
from reprise.core.files import write_text

from synthetic.toyworld.generate import Dice, evaluation_sources
from synthetic.toyworld.mmbench_video import SET_MAKERS, attribute
from synthetic.toyworld.render import write_video
from synthetic.toyworld.script import Script

OPEN_SETS, LETTER_SET = ("toy-own", "toy-five"), "toy-letters"
SETS = (*OPEN_SETS, LETTER_SET)
VIDEOS, OPTIONS = 2, 4  # per set, and per question with options
SEED = 11
SAMPLES = 8
"""Number of questions that are sampled per clip."""
Row = Sequence[str]


def write_sets(folder: Path) -> None:
    """Write each set's questions, and its videos in a folder of the same name."""
    for name in SETS:
        (folder / name).mkdir(parents=True, exist_ok=True)
        for video, script in _set_scripts(name):
            write_video(script, folder / name / f"{video}.mp4")
        write_text(folder / f"{name}.csv", manifest(name))


def manifest(name: str) -> str:
    """Return the csv file of a set's questions."""
    make_questions = _letter_questions if name == LETTER_SET else _open_questions
    rows = [row for video, script in _set_scripts(name) for row in make_questions(video, script)]
    buffer = io.StringIO()
    letters = SET_OPTION_LETTERS[:OPTIONS] if name == LETTER_SET else ()
    csv.writer(buffer, lineterminator="\n").writerows([(*COLUMNS, *letters), *rows])
    return buffer.getvalue()


def scripts() -> list[tuple[str, Script]]:
    """Return the last clip of each evaluation source that has a unique shape, with its script."""
    last_clips = [list(source.clips().items())[-1] for source in evaluation_sources()]
    return [(video, script) for video, script in last_clips if attribute(script, Dice(SEED, 0))]


def _set_scripts(name: str) -> list[tuple[str, Script]]:
    """Return the videos of a set with their scripts. No two sets have the same video."""
    position = SETS.index(name)
    return scripts()[position * VIDEOS : (position + 1) * VIDEOS]


def _open_questions(video: str, script: Script) -> Iterator[Row]:
    """Yield questions with free-form answers."""
    for number, (maker, _) in enumerate(SET_MAKERS):
        pair = maker(script, Dice(SEED, number))
        if pair:
            yield f"{video}.mp4", *pair


def _letter_questions(video: str, script: Script) -> Iterator[Row]:
    """Yield questions about an agent's colour with the right answer and other agents' colours as options."""
    answer_by_question = {
        pair[0]: pair[1] for number in range(SAMPLES) if (pair := attribute(script, Dice(SEED, number)))
    }
    for number, (question, answer) in enumerate(answer_by_question.items()):
        dice = Dice(SEED, 100 + number)
        colours = sorted(
            {f"It is {agent.colour}." for _, other_script in scripts() for agent in other_script.agents} - {answer}
        )
        options = dice.sample(colours, OPTIONS - 1)
        position = dice.below(OPTIONS)
        yield f"{video}.mp4", question, SET_OPTION_LETTERS[position], *options[:position], answer, *options[position:]


if __name__ == "__main__":
    write_sets(Path(sys.argv[1]))
