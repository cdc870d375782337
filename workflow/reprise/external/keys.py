"""Keys of answers and ratings that were made elsewhere: the digests of their files."""

from pydantic import ConfigDict

from reprise.external import module_name
from reprise.models.keys import Answers, RunKey


class ExternalAnswers(Answers):
    """What shapes answers out of files in the formats of a benchmark's authors."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    benchmark: str

    def modules(self) -> tuple[str, ...]:
        return (self.STAGE, module_name(self.benchmark))


class RunFiles(ExternalAnswers):
    STAGE = "reprise.stages.import_answers"
    form: str
    files: dict[str, str]  # file -> sha256


class RatingFiles(ExternalAnswers):
    """The ratings of an imported judge, of all runs of a protocol."""

    STAGE = "reprise.stages.import_ratings"
    files: dict[str, dict[str, str]]  # run -> file -> sha256


class ImportedRunKey(RunKey):
    model_config = ConfigDict(extra="forbid", frozen=True)
    answers: RunFiles


class ImportedRatingsKey(RunKey):
    model_config = ConfigDict(extra="forbid", frozen=True)
    answers: RatingFiles
