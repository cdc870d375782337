"""The programs of resources/programs/ beside what their authors' code does with the same frames and tiny random weights."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from reprise.models.base import Request

from tests.programs.conftest import FRAMES, Environments, answered, as_asked, shipped
from tests.unit.asked import BLIND, request, shown
from tests.unit.videos import SIZE, barcode_video

QUESTIONS = ["Does the circle move? Yes or No.", "What moves?"]
FIVE, EIGHT = (0, 11, 23, 35, 47), (0, 6, 12, 18, 24, 30, 36, 47)


class Case(NamedTuple):
    """How a program is tried."""

    environment: str
    scores: str | None = "logprob_token_ids"
    frames: tuple[int, ...] = FIVE
    is_shrunk: bool = False
    """whether its authors' code has sizes of its own, which are made small first"""
    is_seeing: bool = False
    """whether it is asked about frames alone"""
    side: int = SIZE
    """of a frame, where its authors' code takes one size alone"""
    program: str = ""
    """its name, where it is not the case's"""


CASES = {
    "chat_univi": Case("authors-4.31", is_shrunk=True),
    "imagebind": Case("authors-4.31", "similarity", EIGHT, is_shrunk=True),
    "languagebind": Case("authors-4.31", "similarity", EIGHT),
    "llama_vid": Case("authors-4.31", is_shrunk=True, is_seeing=True),
    "llava_video": Case("authors-4.40", is_shrunk=True),
    "ma_lmm": Case("authors-4.31", None, is_shrunk=True, is_seeing=True),
    "minigpt4_video": Case("authors-4.36", is_shrunk=True, is_seeing=True),
    "mplug_owl2": Case("authors-4.31"),
    "owl_con": Case("authors-4.31", side=224),
    "pllava": Case("authors-4.40"),
    "sharegpt4video": Case("authors-sharegpt4video"),
    "video_chatgpt": Case("authors-4.31", None, is_shrunk=True, is_seeing=True),
    "videollama2": Case("authors-4.40", is_shrunk=True),
    "videochat2": Case("authors-4.36", is_shrunk=True),
    "videoclip": Case("authors-4.31", "similarity", tuple(range(30)), side=224),
    "vila": Case("authors-4.36", is_shrunk=True),
    "vila_40b": Case("authors-4.36", is_shrunk=True, program="vila"),
    "vtimellm": Case("authors-4.31"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_program_says_what_its_authors_code_says(name: str, environments: Environments, tmp_path: Path) -> None:
    case, weights = CASES[name], tmp_path / "weights"
    clip = shown(barcode_video(tmp_path / "v.mp4", FRAMES, width=case.side, height=case.side), case.frames)
    environments.run(case.environment, f"{name}_theirs.py", "make", weights)
    asked = as_asked(clip, QUESTIONS, tmp_path)
    theirs = json.loads(environments.run(case.environment, f"{name}_theirs.py", "ask", weights, asked))
    text = shipped(case.program or name, f"import {name}_theirs\n" if case.is_shrunk else "")
    with environments.serving(case.environment, text, weights, scores=case.scores) as adapter:
        if case.scores == "similarity":
            found = answered(adapter, clip, _asked("similarity"))
            assert [one.scores[0] for one in found] == pytest.approx(theirs, abs=1e-6)
            return
        written = answered(adapter, clip, _asked("write"))
        said = [one["text"].strip() for one in theirs if "text" in one]  # one of them compares probabilities alone
        assert [one.text.strip() for one in written][: len(said)] == said
        if case.scores is not None:
            found = answered(adapter, clip, _asked("score", ("Yes", "No")))
            for mine, its in zip(found, theirs, strict=True):
                assert mine.scores == pytest.approx(its["scores"], rel=1e-6)
            blind = [] if case.is_seeing else answered(adapter, BLIND, _asked("score", ("Yes", "No")))
            assert len({one.scores for one in [*found, *blind]}) == len(found) + len(blind), (
                "question and frames matter"
            )


def _asked(ask: str, options: Sequence[str] = ()) -> list[Request]:
    return [request(one, ask, tuple(options), max_tokens=12) for one in QUESTIONS]
