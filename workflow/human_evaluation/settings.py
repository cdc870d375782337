"""Settings of human evaluation: how a suite describes each of its groups of annotators."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag
from reprise.core.names import RUN
from reprise.core.settings import FilePath, LocalPath, Settings

RunName = Annotated[str, Field(pattern=RUN)]


class Qualification(Settings):
    """Questions that an annotator must answer right before other answers count."""

    questions: FilePath
    """csv file with the columns `question_id`, `video` (relative path, or empty), `question`, `options` (separated by `
    | `) and `answer`."""
    right: int = Field(ge=1)
    """Minimum number of right answers."""


class SurveyDesign(Settings):
    """Settings of every group of annotators."""

    answers: FilePath
    """Glob pattern of the files with answers: csv, or json of Label Studio."""
    seed: int = 0
    """Seed of all random choices."""
    videos: LocalPath = "resources"
    """Folder of the videos (Label Studio's `LOCAL_FILES_DOCUMENT_ROOT`)."""
    surveys: int | None = Field(None, ge=1)
    """Number of surveys. Set this or `per_survey`."""
    per_survey: int | None = Field(None, ge=1)
    """Number of questions per survey. Set this or `surveys`."""
    workers: int = Field(1, ge=1)
    """Minimum annotators per question."""
    qualification: Qualification | None = None
    """Test that annotators must pass."""
    excluded_annotators: FilePath | None = None
    """Glob pattern of files whose column `reviewer` lists annotators to exclude. Users of Label Studio are named
    `label-studio <number>`."""


class AnswerDesign(SurveyDesign):
    """Group of annotators who answer a benchmark's questions, as a model does."""

    kind: Literal["answers"] = "answers"
    """`answers`: annotators answer a benchmark's questions."""
    run: RunName
    """The run whose answers the annotators give, `<protocol>/<sampling>/<model>`; the model must be one of
    `config/external.yaml`. With the sampling `all`, annotators see the whole clip, otherwise its frames as a
    silent video."""
    ties: Literal["wrong", "draw", "first_option"] = "wrong"
    """What counts if several answers are the most frequent ones: none of them (`wrong`), a random one of them
    (`draw`), or the first option."""
    seconds: float = Field(10, gt=0)
    """Length of the silent video with the frames of a sampling."""


class RatingDesign(SurveyDesign):
    """Group of annotators who rate models' answers. Judges are compared with the mean of their ratings."""

    kind: Literal["rating"]
    """`rating`: annotators rate models' answers on the scale of the protocol's judge, 0 to 3 or 0 to 5."""
    runs: tuple[RunName, ...] = Field(min_length=1, strict=False)
    """The runs whose answers are rated, `<protocol>/<sampling>/<model>`."""
    questions: int = Field(100, ge=1)
    """Number of questions to sample."""
    workers: int = Field(2, ge=1)
    """Minimum annotators per answer."""


def kind(group: Any) -> str:  # Errors of pydantic name this function as the key.
    """Return the tag of a group's kind, which defaults to `answers`."""
    name = group.get("kind", "answers") if isinstance(group, dict) else getattr(group, "kind", "answers")
    return f"({name})"  # The parentheses keep the tag apart from a group's key `answers`.


Design: TypeAlias = Annotated[
    Annotated[AnswerDesign, Tag("(answers)")] | Annotated[RatingDesign, Tag("(rating)")], Discriminator(kind)
]
