"""Run keys of imported answers and ratings: the digests of their files."""

from pydantic import ConfigDict

from reprise.models.keys import Answers, RunKey


class ExternalAnswers(Answers):
    """What shapes answers out of files in the formats of a benchmark's authors."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    benchmark: str


class RunFiles(ExternalAnswers):
    form: str
    files: dict[str, str]
    """file -> sha256"""


class RatingFiles(ExternalAnswers):
    files: dict[str, dict[str, str]]
    """run -> file -> sha256"""


class ImportedRunKey(RunKey):
    """Key of the stage `import_answers`."""

    answers: RunFiles


class ImportedRatingsKey(RunKey):
    """Key of the stage `import_ratings`."""

    answers: RatingFiles
