"""Write the optional parts of MMBench-Video's release: image benchmarks and other video sets, in the paper's sizes."""

import csv
import io
from pathlib import Path

from reprise.benchmarks.mmbench_video.taxonomy import SCORING_BY_SET, SET_OPTION_LETTERS
from reprise.benchmarks.mmbench_video.video_sets import ACCURACY_SCORING, COLUMNS, SCORING_COLUMN
from reprise.core.files import write_text

from synthetic.rehearsal.films import render
from synthetic.rehearsal.words import SEED, WORDS, clause, sentence
from synthetic.toyworld.generate import Dice
from synthetic.toyworld.image_choice import QUESTIONS_PER_IMAGE, select_stills, write_tables

# Numbers of questions of MMBench-DEV-EN-v1.1 and MMStar.
IMAGE_QUESTIONS = (1292, 1500)
# The paper states: "We randomly sample 1000 QAs" (section 3.2).
QUESTIONS_PER_SET, VIDEOS_PER_SET = 1000, 6
CAPABILITIES = ("who", "what", "where")  # invented names of the abilities that the questions of a set need
# Runs whose answers annotators rated (section 4.4), and the numbers of questions and annotators.
RATED = ("mmbench_video/unpacked/spaced8/video-llava-7b", "mmbench_video/packed.low/interior8/gpt-4o")
RATED_QUESTIONS, RATERS = 100, 2
MAX_RATING = 3


def write_extras(folder: Path) -> None:
    """Write the tables of images, and each set's manifest and videos."""
    stills = select_stills()
    mmbench, mmstar = (
        [stills[number % len(stills)] for number in range(count // QUESTIONS_PER_IMAGE)] for count in IMAGE_QUESTIONS
    )
    write_tables(folder, mmbench, mmstar)
    for number, name in enumerate(SCORING_BY_SET):
        _write_set(folder / "sets" / name, Dice(SEED, 20 + number), SCORING_BY_SET[name])


def _write_set(folder: Path, dice: Dice, scoring: str) -> None:
    """Write the videos of a set into a folder, and its questions into the csv file next to it."""
    folder.mkdir(parents=True, exist_ok=True)
    videos = [render(number, folder / f"{number}.mp4").name for number in range(VIDEOS_PER_SET)]
    buffer = io.StringIO()
    manifest = csv.writer(buffer, lineterminator="\n")
    letters = SET_OPTION_LETTERS if scoring == ACCURACY_SCORING else ()
    manifest.writerow((*COLUMNS, "capability", SCORING_COLUMN, *letters))
    for _ in range(QUESTIONS_PER_SET):
        event = clause(dice)
        question = f"{dice.pick(('What', 'Who'))} acts {dice.pick(WORDS['times'])}?"
        video, answer, capability = dice.pick(videos), sentence(event.text()), dice.pick(CAPABILITIES)
        options = [sentence(clause(dice).text()) for _ in letters]
        manifest.writerow((video, question, dice.pick(letters) if letters else answer, capability, scoring, *options))
    write_text(folder.with_suffix(".csv"), buffer.getvalue())


def ratings(questions: int) -> list[tuple[str, str, int]]:
    """Return invented human ratings of two models' answers: run, index of the question, and rating."""
    dice = Dice(SEED, 30)
    indices = sorted(dice.sample(range(questions), RATED_QUESTIONS))
    return [(run, str(index), dice.below(MAX_RATING + 1)) for run in RATED for index in indices for _ in range(RATERS)]
