"""Settings keys of surveys and of annotators' answers."""

from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field
from reprise.core.settings import Key, KeyPart
from reprise.models.keys import Answers, RunKey

from human_evaluation.settings import AnswerDesign, Design, RatingDesign


class Inputs(KeyPart):
    """Files of answers, and files that decide whose answers count, each with its sha256."""

    answers: dict[str, str]
    left_out: dict[str, str] = Field({})
    qualification: dict[str, str] = Field({})

    def digests(self) -> dict[str, str]:
        return self.answers | self.left_out | self.qualification

    def paths(self) -> list[Path]:
        return list(map(Path, self.digests()))


class PeopleFiles(Answers):
    model_config = ConfigDict(extra="forbid", frozen=True)
    scope: str
    design: AnswerDesign
    files: Inputs


class PeopleRunKey(RunKey):
    model_config = ConfigDict(extra="forbid", frozen=True)
    answers: PeopleFiles


class SurveysKey(Key):
    scope: str
    design: Design
    sampling: dict[str, Any]
    files: Inputs


class RatedKey(Key):
    runs: tuple[str, ...]
    questions: int
    seed: int


class RatingsKey(Key):
    scope: str
    design: RatingDesign
    files: Inputs


class PeopleStatisticsKey(Key):
    benchmark: str
    title: str
    notice: str
    scope: str
    design: Design
    files: Inputs
