"""Keys of what people are asked, and of their answers."""

from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from reprise.core.settings import Key, Settings
from reprise.models.keys import Answers, RunKey
from reprise.people.settings import AnswerDesign, Design, RatingDesign


class Inputs(Settings):
    """Files of people's answers and of what decides whose answers count, by their sha256."""

    answers: dict[str, str]
    left_out: dict[str, str] = Field({})
    qualification: dict[str, str] = Field({})

    def digests(self) -> dict[str, str]:
        """Those of all of them."""
        return self.answers | self.left_out | self.qualification

    def paths(self) -> list[Path]:
        """All of them."""
        return list(map(Path, self.digests()))


class PeopleFiles(Answers):
    """What shapes a run's answers that people gave."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    scope: str
    design: AnswerDesign
    files: Inputs


class PeopleRunKey(RunKey):
    """Key of the stage `people_answers`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    answers: PeopleFiles


class SurveysKey(Key):
    """Key of the stage `people_surveys`."""

    scope: str
    design: Design
    sampling: dict[str, Any]
    files: Inputs


class RatedKey(Key):
    """Key of the stage `people_rated`: which answers are put to people."""

    runs: tuple[str, ...]
    questions: int
    seed: int


class RatingsKey(Key):
    """Key of the stage `people_ratings`."""

    scope: str
    design: RatingDesign
    files: Inputs


class PeopleStatisticsKey(Key):
    """Key of the stage `people_statistics`."""

    benchmark: str
    title: str
    notice: str
    scope: str
    design: Design
    files: Inputs
