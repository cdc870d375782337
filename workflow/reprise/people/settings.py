"""How people are asked: what a suite says of each of its groups of people."""

from typing import Annotated, Literal

from pydantic import Field

from reprise.core.names import RUN
from reprise.core.settings import Settings


class Qualification(Settings):
    """Questions that a person must answer before the others count."""

    questions: str
    """csv file with the columns `question_id`, `video` (a path beside the file; may be empty), `question`, `options`
    (with ` | ` between them) and `answer`."""
    right: int = Field(ge=1)
    """How many of its answers must be right."""


class Asked(Settings):
    """What every way of asking people says."""

    answers: str
    """Glob pattern of the files with people's answers: csv, or json as Label Studio exports it."""
    seed: int = 0
    """Seed of all draws."""
    videos: str = "resources"
    """The folder whose videos the site of the survey shows (Label Studio's `LOCAL_FILES_DOCUMENT_ROOT`); their
    addresses are relative to it."""


class AnswerDesign(Asked):
    """People answer a benchmark's questions, as a model does."""

    kind: Literal["answers"] = "answers"
    """`answers`: people answer a benchmark's questions."""
    run: Annotated[str, Field(pattern=RUN)]
    """The run whose answers these are, `<protocol>/<sampling>/<model>`; the model is one whose answers are imported.
    People see the whole clip under the sampling `all`; of another one its frames, as a silent video of `seconds:`."""
    surveys: int | None = Field(None, ge=1)
    """Number of surveys that the questions are dealt out to; instead of `per_survey`."""
    per_survey: int | None = Field(None, ge=1)
    """Number of questions of a survey; instead of `surveys`. Without both there is one survey."""
    workers: int = Field(1, ge=1)
    """How many people must have answered a question; it has no answer before."""
    ties: Literal["wrong", "draw", "first_option"] = "wrong"
    """What becomes of a question to which two answers are the most frequent: it has no answer (`wrong`), one of them is
    drawn, or the one that is offered first counts."""
    seconds: float = Field(10, gt=0)
    """Length of the silent video that the frames of a sampling are shown as."""
    qualification: Qualification | None = None
    """A test that people must pass."""
    left_out: str | None = None
    """Glob pattern of csv files whose column `reviewer` names people whose answers do not count: those who wrote the
    captions."""


Design = AnswerDesign
