"""The key of a run: what shapes its answers, wherever they come from, and what the job that asks needs besides.

docs/reference/response-cache.md lists what is in the key, what is not, and why.
"""

from operator import not_
from typing import Any

from pydantic import ConfigDict, Field

from reprise.core.files import value_digest
from reprise.core.settings import Key, KeyPart
from reprise.models.asking.money.prices import Price
from reprise.models.remote.serving.settings import Hosting, Serving
from reprise.reading.keys import Pattern


class Answers(Key):
    """What affects answers; known for all of them."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    adapter: str
    sampling: dict[str, Any]

    def digest(self) -> str:
        """The run's key: answers and journals carry it."""
        return value_digest(self.model_dump(mode="json"))


class RunKey(KeyPart):
    """A run's settings, or those of a judge of a protocol's answers, as the stages after the answers need them."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    run: str
    key: str
    answers: Answers
    patterns: tuple[Pattern, ...] = Field((), exclude_if=not_)
    """rows of the model's own by which its answers are read; they shape no answer"""


class ModelAnswers(Answers):
    """What shapes the answers of a model that is asked; a model's label or the table that shows it does not."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    model: dict[str, str]
    """what the weights are: `repo` and `revision`, or the digest of a `checkpoint`; empty where there are none"""
    settings: dict[str, Any]
    dtype: str
    attention: str
    trust_remote_code: bool
    prompt: dict[str, str]
    """system and user text, not filled in"""
    form: str
    ask: str
    max_tokens: int
    versions: dict[str, str]
    serving: Serving | None = Field(None, exclude_if=not_)


class ModelRunKey(RunKey):
    """Key of the stage `infer`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    answers: ModelAnswers
    code_versions: dict[str, int] = Field({})
    """of the stage `infer`; the versions that shape answers are in `answers`"""
    checkpoint: str | None = None
    gpus: int = 0
    gpus_per_copy: int | None = Field(None, exclude_if=not_)
    """how many of them a copy of the model takes; by default as few as hold it"""
    serving: dict[str, Any] = Field({}, exclude_if=not_)
    """settings of the adapter that do not shape answers"""
    price: Price | None = Field(None, exclude_if=not_)
    """what the model's vendor takes, for the costs that stand beside the answers"""
    hosting: Hosting | None = Field(None, exclude_if=not_)
    """what else the job needs that starts its model's server"""
