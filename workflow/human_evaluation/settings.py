"""Settings of human evaluation: how a suite describes each of its groups of annotators."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag
from reprise.core.names import RUN
from reprise.core.settings import FilePath, LocalPath, Settings

RunName = Annotated[str, Field(pattern=RUN)]


class Qualification(Settings):
    """Questions that a person must answer before the others count."""

    questions: FilePath
    """csv file with the columns `question_id`, `video` (a path beside the file; may be empty), `question`, `options`
    (with ` | ` between them) and `answer`."""
    right: int = Field(ge=1)
    """How many of its answers must be right."""


class Asked(Settings):
    """What every way of asking people says."""

    answers: FilePath
    """Glob pattern of the files with people's answers: csv, or json as Label Studio exports it."""
    seed: int = 0
    """Seed of all draws."""
    videos: LocalPath = "resources"
    """The folder whose videos the site of the survey shows (Label Studio's `LOCAL_FILES_DOCUMENT_ROOT`); their
    addresses are relative to it."""
    surveys: int | None = Field(None, ge=1)
    """Number of surveys that the questions are dealt out to; instead of `per_survey`."""
    per_survey: int | None = Field(None, ge=1)
    """Number of questions of a survey; instead of `surveys`. Without both there is one survey."""
    workers: int = Field(1, ge=1)
    """How many people must have answered a question; it has no answer before."""
    qualification: Qualification | None = None
    """A test that people must pass."""
    left_out: FilePath | None = None
    """Glob pattern of files with people whose answers do not count, those who wrote the captions: in their column
    `reviewer`, by the names under which they answer. Users of Label Studio answer as `label-studio <number>`."""


class AnswerDesign(Asked):
    """People answer a benchmark's questions, as a model does."""

    kind: Literal["answers"] = "answers"
    """`answers`: people answer a benchmark's questions."""
    run: RunName
    """The run whose answers these are, `<protocol>/<sampling>/<model>`; the model is one whose answers are imported.
    People see the whole clip under the sampling `all`; of another one its frames, as a silent video of `seconds:`."""
    ties: Literal["wrong", "draw", "first_option"] = "wrong"
    """What becomes of a question to which two answers are the most frequent: it has no answer (`wrong`), one of them is
    drawn, or the one that is offered first counts."""
    seconds: float = Field(10, gt=0)
    """Length of the silent video that the frames of a sampling are shown as."""


class RatingDesign(Asked):
    """People rate models' answers as a judge does; a judge is measured against the mean of their ratings."""

    kind: Literal["rating"]
    """`rating`: people rate models' answers on the scale of the judges of their protocol, 0 to 3 or 0 to 5."""
    runs: tuple[RunName, ...] = Field(min_length=1, strict=False)
    """The runs whose answers are rated, `<protocol>/<sampling>/<model>`, all on the same questions."""
    questions: int = Field(100, ge=1)
    """How many questions are drawn."""
    workers: int = Field(2, ge=1)
    """How many people must have rated an answer; it has no rating before."""


def kind(group: Any) -> str:
    """Return the tag of a group's kind, which defaults to `answers`."""
    name = group.get("kind", "answers") if isinstance(group, dict) else getattr(group, "kind", "answers")
    return f"({name})"  # The parentheses keep the tag apart from a group's key `answers`.


Design: TypeAlias = Annotated[
    Annotated[AnswerDesign, Tag("(answers)")] | Annotated[RatingDesign, Tag("(rating)")], Discriminator(kind)
]
