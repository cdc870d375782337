"""Define the keys of surveys and of annotators' answers."""

from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field
from reprise.core.settings import Key, KeyPart
from reprise.models.keys import AnswersKey, RunKey

from human_evaluation.settings import AnswerDesign, Design, RatingDesign


class AnswerFiles(KeyPart):
    """Digests of the files with answers, and of the files that decide whose answers count, by path."""

    answers: dict[str, str]
    excluded_annotators: dict[str, str] = Field({})
    qualification: dict[str, str] = Field({})

    def digests(self) -> dict[str, str]:
        return self.answers | self.excluded_annotators | self.qualification

    def paths(self) -> list[Path]:
        return list(map(Path, self.digests()))


class AnnotatorAnswersKey(AnswersKey):
    """The settings that affect annotators' answers to a run."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    scope: str
    design: AnswerDesign
    files: AnswerFiles


class AnnotatorRunKey(RunKey):
    model_config = ConfigDict(extra="forbid", frozen=True)
    answers: AnnotatorAnswersKey


class SurveysKey(Key):
    scope: str
    design: Design
    sampling: dict[str, Any]
    files: AnswerFiles


class RatedKey(Key):
    runs: tuple[str, ...]
    questions: int
    seed: int


class RatingsKey(Key):
    scope: str
    design: RatingDesign
    files: AnswerFiles


class HumanStatisticsKey(Key):
    benchmark: str
    title: str
    notice: str
    scope: str
    design: Design
    files: AnswerFiles
