"""Models on a server: who answered, and questions about many clips that are answered in any order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from reprise.models.asking.money.calls import Account
from reprise.models.asking.money.prices import Used
from reprise.models.base import Answer, Clip, ModelSpec, Request


@dataclass(frozen=True)
class ServedAnswer(Answer):
    """An answer that a server gave."""

    served: str = ""
    """id of the model that answered, by the server"""
    tokens_cached: int = 0
    """of its prompt, those that the server had read before"""


@dataclass(frozen=True)
class ServedSpec(ModelSpec):
    """What an adapter of a server needs besides."""

    account: Account | None = None
    """who pays; without it, as in a trial, limits of other jobs are not known, and nothing is counted"""


def served_by(answer: Answer | None) -> str:
    """Id of the model that answered; empty where no server did."""
    return answer.served if isinstance(answer, ServedAnswer) else ""


def used_by(answer: Answer | None) -> Used:
    """Tokens that an answer took."""
    if answer is None:
        return Used(0, 0)
    cached = answer.tokens_cached if isinstance(answer, ServedAnswer) else 0
    return Used(answer.tokens_in, answer.tokens_out, cached)


class Due(NamedTuple):
    """A clip and the questions that are due about it."""

    clip: Clip
    requests: tuple[Request, ...]
    check: Callable[[], object] = str
    """stops the job where the clip's file is not what its ledger names"""


class Arrived(NamedTuple):
    """An answer or a failure as soon as it is there, and how long the question was on its way."""

    clip: Clip
    request: Request
    answer: Answer
    seconds: float
    parts: Mapping[str, float] = {}
    """what was done once for the clip; stands at one of its answers"""


@runtime_checkable
class ServedModel(Protocol):
    """A model that is asked about many clips at a time."""

    def answers_in_any_order(self, dues: Sequence[Due]) -> Iterator[Arrived]: ...
