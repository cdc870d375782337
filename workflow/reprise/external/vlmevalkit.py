"""VLMEvalKit's result folders: what the names of its files say of how MMBench-Video was asked.

`<model>_MMBench_Video_8frame_nopack.xlsx`: 8 frames (`1fps`: one a second), each question alone (`pack`: all of a video
at once).
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.external.answers import OTHER_FRAMES, OTHER_PROMPT, Problem, frames_in_name
from reprise.models.base import Answer

OTHER_PACKING = "packed otherwise than here (pack: all questions of a video at once)"

PACKING = re.compile(r"_(nopack|pack)(?=_|$)")
FORM = {"nopack": "unpacked", "pack": "packed"}
RATE = re.compile(r"_(\d+(?:\.\d+)?fps)(?=_|$)")
# The harness has one prompt of packed questions; its system text begins so.
PACKED_PROMPT = "You are an AI assistant responsible for answering questions about videos."


def could_be(path: Path, form: str) -> bool:
    """Whether a file, by its name, can hold answers to this form of question."""
    packing = PACKING.search(path.stem)
    return packing is None or FORM[packing[1]] == form


def deviations(
    form: str, files: Sequence[Path], requests: pl.DataFrame, answers: Mapping[str, Answer], frames: int | None
) -> list[Problem]:
    """What was done otherwise than in a run with so many frames of each clip, by the files' names."""
    found = []
    for path in files:
        packing, rate, number = PACKING.search(path.stem), RATE.search(path.stem), frames_in_name(path)
        if packing and FORM[packing[1]] != form:
            found.append(Problem(str(path), None, packing[1], OTHER_PACKING))
        elif packing and form == "packed" and not requests["system"].str.contains(PACKED_PROMPT, literal=True).all():
            found.append(Problem(str(path), None, packing[1], OTHER_PROMPT))
        if rate and frames is not None:
            found.append(Problem(str(path), None, rate[1], OTHER_FRAMES))
        if number is not None and number != frames:
            found.append(Problem(str(path), None, f"{number} frames", OTHER_FRAMES))
    return found
