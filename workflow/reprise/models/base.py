"""What an adapter is given and what it gives back: the seam between the inference job and a model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from reprise.models.asking.money.prices import Account, Used


@dataclass(frozen=True)
class Request:
    """One question about one clip, ready to be asked."""

    request_id: str
    item_id: str
    role: str
    ask: str
    system: str
    prompt: str
    options: tuple[str, ...]
    expected: str
    max_tokens: int
    lead: str = ""
    """beginning of the prompt that stands in front of the frames; adapters that always show frames first ignore it"""

    def around_frames(self) -> tuple[str, str]:
        """Return the texts in front of the frames and behind them."""
        return self.lead, self.prompt[len(self.lead) :].removeprefix(" ") if self.lead else self.prompt


@dataclass(frozen=True)
class Clip:
    """A clip and the frames that its plan shows of it; no path and no indices for a blind run."""

    clip_id: str
    path: Path | None
    indices: tuple[int, ...]
    times_s: tuple[float, ...]
    questions: int = 0
    """how many the run has about it, answered or not"""
    grid: tuple[int, int] | None = None
    """rows and columns, where all frames are one picture"""

    @property
    def pictures(self) -> int:
        return min(1, len(self.indices)) if self.grid else len(self.indices)


class LargestClip(NamedTuple):
    """The most frames that a run shows of a clip, and the largest height and width of a frame."""

    frames: int
    height: int
    width: int

    def or_larger(self, other: "LargestClip | None") -> "LargestClip":
        """Return a clip as large as both."""
        return LargestClip(*map(max, self, other)) if other else self


@dataclass(frozen=True)
class Answer:
    """A model's answer: text, or a score per option, or an error class with a message and nothing else."""

    text: str = ""
    scores: tuple[float, ...] = ()
    frames_shown: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    error: str = ""
    message: str = ""
    served: str = ""
    """id of the model that answered, by its server"""
    tokens_cached: int = 0
    """of its prompt, those that the server had read before"""

    @property
    def used(self) -> Used:
        return Used(self.tokens_in, self.tokens_out, self.tokens_cached)


@dataclass(frozen=True)
class ModelSpec:
    """The `model` part of a run's key, as the adapter needs it."""

    folder: Path | None
    device: str
    threads: int
    dtype: str
    attention: str
    trust_remote_code: bool
    settings: dict[str, Any]
    prompt_start: str = ""
    """what all prompts of the run begin with"""
    memory: Mapping[int | str, int] | None = None
    """devices, by their number or name, and the bytes that are free on each; by default what is found"""
    shows_frames: bool = False
    """whether the run shows frames, so that a checkpoint that takes none is refused before its weights are loaded"""
    options: tuple[tuple[str, ...], ...] = ()
    """of the run's questions that ask for a score; refused like that where one is several tokens"""
    largest: LargestClip | None = None
    """the clip by which the memory is estimated; by default a bound for most models"""
    gpus_per_copy: int | None = None
    """number of GPUs that the model is spread over; by default as few as hold it"""
    account: Account | None = None
    """who pays a server; without it, as in a trial, limits of other jobs are not known, and nothing is counted"""

    @property
    def of_model(self) -> "ModelSpec":
        """The spec without what differs from run to run."""
        return replace(self, prompt_start="", shows_frames=False, options=(), largest=None)

    @property
    def weights(self) -> Path:
        """The folder of a model that has weights."""
        assert self.folder is not None
        return self.folder


@dataclass(eq=False)
class Ready:
    """A clip that is prepared for its model with the questions about it, and how long each part of that took."""

    value: Any
    seconds: dict[str, float]
    bytes: int = 0
    """of the memory that it passed through, where another process prepared it"""


class AnswerError(Exception):
    """A question failed for a reason that `models/asking/journal.py` names; only that question counts as failed."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


class ReplyError(AnswerError):
    """A reply of a server that is not read to its end, whatever it says."""


class BrokenReplyError(ReplyError):
    """A reply that is none, such as the page of a proxy or a truncated one: the next try may bring a reply."""


class ClipFailedError(AnswerError):
    """A clip could not be prepared: all questions about it count as failed."""


class Preparer(Protocol):
    """Makes of a clip's frames and questions what a model is given; the same in every process, without the model."""

    def read(self, clip: Clip) -> Any:
        """The frames of a clip, decoded."""

    def prepare(self, clip: Clip, frames: Any, requests: Sequence[Request]) -> Any:
        """What the model is given of them; passes from process to process, so tensors are numpy arrays."""


class Adapter(Protocol):
    """A model that answers all questions of a clip, asked clip by clip.

    An error that it raises fails the question that it was asked last; the others are asked again without it.
    """

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        """One answer per request, in order, each yielded as soon as it is ready."""


@runtime_checkable
class AdapterOfRuns(Adapter, Protocol):
    """An adapter that stays loaded for several runs of its model; any other is loaded again where runs differ."""

    def begin(self, spec: ModelSpec) -> None:
        """Prepare for the next run; raise a UserError where the model cannot be asked what the run asks."""


class PreparingAdapter(Adapter, Protocol):
    """An adapter whose clips can be prepared ahead, by the preparer that `AdapterInfo.preparer` names."""

    preparer: Preparer

    def answers_about(self, ready: Ready, requests: Sequence[Request]) -> Iterator[Answer]:
        """The answers about a clip that is prepared, in the order of the requests."""


# --- models at servers ------------------------------------------------------------------------------------------------


class Due(NamedTuple):
    """A clip and the questions that are due about it."""

    clip: Clip
    requests: tuple[Request, ...]
    check: Callable[[], object] = str
    """stops the job where the clip's file is not what its ledger names"""

    def serves(self, other: "Due") -> bool:
        """Whether what is prepared for these questions is what others need."""
        return self.clip == other.clip and set(other.requests) <= set(self.requests)


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
