"""Optional parts of MMBench-Video's release: image benchmarks and other video sets, as large as in the paper."""

import csv
import io
from pathlib import Path

from reprise.benchmarks.mmbench_video.taxonomy import OTHER_VIDEO_SETS, SET_OPTIONS
from reprise.benchmarks.mmbench_video.video_sets import ACCURACY_SCORING, COLUMNS, SCORING_COLUMN
from reprise.core.files import write_text

from synthetic.rehearsal.films import render
from synthetic.rehearsal.words import SEED, WORDS, clause, sentence
from synthetic.toyworld.generate import Dice
from synthetic.toyworld.image_choice import stills, write_tables

# MMBench-DEV-EN-v1.1 and MMStar; the toy world asks two questions about each of its stills.
IMAGE_QUESTIONS = (1292, 1500)
# "We randomly sample 1000 QAs" (section 3.2).
QUESTIONS_PER_SET, VIDEOS_PER_SET = 1000, 6
CAPABILITIES = ("who", "what", "where")
# The runs whose answers annotators rated (section 4.4), the number of questions and the number of annotators.
RATED = ("mmbench_video/unpacked/spaced8/video-llava-7b", "mmbench_video/packed.low/interior8/gpt-4o")
RATED_QUESTIONS, RATERS = 100, 2
BEST = 3


def write_extras(folder: Path) -> None:
    """Write the tables of images, and each set's manifest and videos."""
    pictures = stills()
    write_tables(
        folder, *([pictures[number % len(pictures)] for number in range(count // 2)] for count in IMAGE_QUESTIONS)
    )
    for number, name in enumerate(OTHER_VIDEO_SETS):
        _write_set(folder / "sets" / name, Dice(SEED, 20 + number), OTHER_VIDEO_SETS[name])


def _write_set(folder: Path, dice: Dice, scoring: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    videos = [render(number, folder / f"{number}.mp4").name for number in range(VIDEOS_PER_SET)]
    buffer = io.StringIO()
    manifest = csv.writer(buffer, lineterminator="\n")
    letters = SET_OPTIONS if scoring == ACCURACY_SCORING else ()
    manifest.writerow((*COLUMNS, "capability", SCORING_COLUMN, *letters))
    for _ in range(QUESTIONS_PER_SET):
        event = clause(dice)
        question = f"{dice.pick(('What', 'Who'))} acts {dice.pick(WORDS['times'])}?"
        video, answer, capability = dice.pick(videos), sentence(event.text()), dice.pick(CAPABILITIES)
        options = [sentence(clause(dice).text()) for _ in letters]
        manifest.writerow((video, question, dice.pick(letters) if letters else answer, capability, scoring, *options))
    write_text(folder.with_suffix(".csv"), buffer.getvalue())


def ratings(questions: int) -> list[tuple[str, str, int]]:
    """Return invented human ratings of two models' answers: run, question, rating."""
    dice = Dice(SEED, 30)
    indices = sorted(dice.sample(range(questions), RATED_QUESTIONS))
    return [(run, str(index), dice.below(BEST + 1)) for run in RATED for index in indices for _ in range(RATERS)]
