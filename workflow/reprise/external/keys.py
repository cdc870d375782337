"""Settings of imported answers and ratings: the digests of their files."""

from pydantic import ConfigDict

from reprise.models.keys import AnswersKey, RunKey


class ImportedFilesKey(AnswersKey):
    """Settings of answers from files in the formats of a benchmark's authors."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    benchmark: str


class RunFilesKey(ImportedFilesKey):
    """Settings of the imported answers of one run."""

    form: str
    files: dict[str, str]
    """file -> sha256"""


class RatingFilesKey(ImportedFilesKey):
    """Settings of the imported ratings by one judge."""

    files: dict[str, dict[str, str]]
    """run -> file -> sha256"""


class ImportedRunKey(RunKey):
    """Settings of the stage `import_answers`."""

    answers: RunFilesKey


class ImportedRatingsKey(RunKey):
    """Settings of the stage `import_ratings`."""

    answers: RatingFilesKey
