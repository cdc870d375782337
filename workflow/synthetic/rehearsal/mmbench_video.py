"""Write a release of MMBench-Video with the paper's numbers of videos and questions, and some subtitles."""

import csv
import io
from pathlib import Path

from reprise.core.files import write_text

from synthetic.rehearsal.mmbench_extras import write_extras
from synthetic.rehearsal.words import SEED, WORDS, clause, identifier, sentence, split_evenly
from synthetic.toyworld.generate import Dice

COLUMNS = ("index", "video", "video_type", "question", "answer", "dimensions", "video_path")
VIDEOS, QUESTIONS = 609, 1998
TYPES = ("News", "Sports", "Movies", "Music", "Science", "Travel", "Food", "Animation")
SECOND_ABILITY_SHARE = 0.2  # invented share of questions about two abilities
CUE_COUNT, CUE_SECONDS = 6, 5  # subtitles per video, and seconds that each is shown
# Ability -> invented weight. The paper shows the distribution only as a figure.
ABILITIES: dict[str, int] = {
    **dict.fromkeys(("Video Topic", "Video Emotion", "Video Scene", "Video Style"), 4),
    **dict.fromkeys(("OCR", "Object Recognition", "Attribute Recognition", "Event Recognition", "Human Motion"), 8),
    **dict.fromkeys(("Counting", "Spatial Relationship", "Human-object Interaction", "Human Interaction"), 5),
    **dict.fromkeys(("Hallucination", "Structuralized Image-Text Understanding", "Mathematical Calculation"), 3),
    **dict.fromkeys(("Physical Property", "Function Reasoning", "Identity Reasoning"), 3),
    **dict.fromkeys(("Natural Relation", "Physical Relation", "Social Relation"), 3),
    **dict.fromkeys(("Common Sense Reasoning", "Counterfactual Reasoning", "Causal Reasoning"), 3),
    "Future Prediction": 3,
}


def list_video_ids() -> list[str]:
    """Return the ids of the videos."""
    return [identifier("mmbench_video", number) for number in range(VIDEOS)]


def build_rows() -> list[list[object]]:
    """Return the questions of the release, video by video."""
    dice = Dice(SEED, 7)
    weighted_abilities = [ability for ability, weight in ABILITIES.items() for _ in range(weight)]
    extra_abilities = [dice.pick(weighted_abilities) for _ in range(QUESTIONS - len(ABILITIES))]
    abilities = dice.shuffled([*ABILITIES, *extra_abilities])
    table_rows: list[list[object]] = []
    for video, count in zip(list_video_ids(), split_evenly(QUESTIONS, VIDEOS), strict=True):
        kind = dice.pick(TYPES)
        for _ in range(count):
            labels = [abilities[len(table_rows)]]
            if dice.share() < SECOND_ABILITY_SHARE:
                labels.append(dice.pick([ability for ability in ABILITIES if ability not in labels]))
            table_rows.append([len(table_rows), video, kind, *_question(dice), str(labels), f"./video/{video}.mp4"])
    return table_rows


def _question(dice: Dice) -> tuple[str, str]:
    """Return a question and its answer."""
    event, verb = clause(dice), dice.pick(("do", "hold", "look at"))
    answer = dice.pick((event.text(), f"{event.agent} {event.deed}", f"{dice.pick(WORDS['times'])}, {event.place}"))
    question = f"What does {event.agent} {verb} {event.place} after the {dice.pick(TYPES).lower()} report?"
    return question, sentence(answer)


def subtitles(dice: Dice) -> str:
    """Return a few spoken sentences as WebVTT."""
    cues = [
        f"00:00:{CUE_SECONDS * number:02d}.000 --> 00:00:{CUE_SECONDS * (number + 1):02d}.000\n"
        f"{sentence(clause(dice).text())}\n"
        for number in range(CUE_COUNT)
    ]
    return "\n".join(["WEBVTT\n", *cues])


def write_release(folder: Path) -> None:
    """Write `MMBench-Video.tsv`, the subtitles, and the image benchmarks and other videos."""
    buffer = io.StringIO()
    csv.writer(buffer, delimiter="\t", lineterminator="\n").writerows([COLUMNS, *build_rows()])
    write_text(folder / "MMBench-Video.tsv", buffer.getvalue())
    dice = Dice(SEED, 8)
    for video in list_video_ids()[::2]:
        write_text(folder / "subtitles" / f"{video}.vtt", subtitles(dice))
    write_extras(folder)
