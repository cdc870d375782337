"""Define the key of a run: everything that affects its answers, and further settings of the inference job.

docs/reference/response-cache.md lists what is in the key, what is not, and why.
"""

from operator import not_
from typing import Any

from pydantic import ConfigDict, Field

from reprise.core.files import value_digest
from reprise.core.settings import Key, KeyPart
from reprise.extraction.keys import Pattern
from reprise.models.inference.money.prices import Price
from reprise.models.remote.serving.settings import LaunchSettings, ServingKey


class AnswersKey(Key):
    """The settings that affect answers, both imported and inferred ones."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    adapter: str
    sampling: dict[str, Any]

    def compute_digest(self) -> str:
        """Return the digest that identifies the run's answers and its response cache."""
        return value_digest(self.model_dump(mode="json", by_alias=True))


class RunKey(KeyPart):
    """The settings of a run, or of a judge, that the stages after inference need."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    run: str
    key: str
    """digest of `answers`, which identifies the response cache"""
    answers: AnswersKey
    patterns: tuple[Pattern, ...] = Field((), exclude_if=not_)
    """extraction rules for this model only; they do not affect its answers"""


class ModelAnswersKey(AnswersKey):
    """All settings that affect the answers of a model that runs inference; its label, for example, does not.

    `exclude_if` omits default values from the digest. A new field therefore does not change existing keys.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    model: dict[str, str]
    """identity of the weights: `repo` and `revision`, or the digest of a `checkpoint`; empty if there are none"""
    settings: dict[str, Any]
    dtype: str
    attention: str
    trust_remote_code: bool
    prompt: dict[str, str]
    """templates of the system and user text"""
    form: str
    """form of the question, such as `entail`"""
    # Digests call it `ask`: another name would change the key of every cached response.
    request_type: str = Field(serialization_alias="ask")
    max_tokens: int
    versions: dict[str, str]
    """versions of the packages that affect answers"""
    serving: ServingKey | None = Field(None, exclude_if=not_)
    """settings of the server that the job starts, if it starts one"""


class ModelRunKey(RunKey):
    """Key of the stage `infer`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    answers: ModelAnswersKey
    code_versions: dict[str, int] = Field({})
    """version of the stage `infer`; the versions that affect answers are in `answers`"""
    checkpoint: str | None = None
    """folder of the checkpoint, if the model's file names one instead of a repository"""
    gpus: int = 0
    gpus_per_copy: int | None = Field(None, exclude_if=not_)
    """number of GPUs for each copy of the model; by default as few as can hold it"""
    serving: dict[str, Any] = Field({}, exclude_if=not_)
    """settings of the adapter that do not affect answers"""
    price: Price | None = Field(None, exclude_if=not_)
    """the vendor's price, for the costs that are recorded with the answers"""
    hosting: LaunchSettings | None = Field(None, exclude_if=not_)
    """further settings for a job that starts its model's server"""
