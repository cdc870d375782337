"""The interface between the inference job and a model: what an adapter receives and what it returns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from reprise.models.inference.money.prices import Account, TokenUsage


@dataclass(frozen=True)
class Request:
    """One question about one clip, ready to be sent to a model."""

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
    """beginning of the prompt, placed before the frames; adapters that always put frames first ignore it"""

    def split_prompt(self) -> tuple[str, str]:
        """Return the texts before and after the frames."""
        return self.lead, self.prompt[len(self.lead) :].removeprefix(" ") if self.lead else self.prompt


@dataclass(frozen=True)
class ClipFrames:
    """A clip and the frames that its plan selects; without path and indices in a text-only run."""

    clip_id: str
    path: Path | None
    indices: tuple[int, ...]
    times_s: tuple[float, ...]
    question_count: int = 0
    """number of questions that the run has about the clip, answered or not"""
    grid: tuple[int, int] | None = None
    """rows and columns, if all frames are combined into one picture"""

    @property
    def picture_count(self) -> int:
        return min(1, len(self.indices)) if self.grid else len(self.indices)


class LargestClip(NamedTuple):
    """The largest number of frames that a run sends of one clip, and the largest height and width of a frame."""

    frames: int
    height: int
    width: int

    def elementwise_max(self, other: "LargestClip | None") -> "LargestClip":
        """Return the element-wise maximum of both sizes."""
        return LargestClip(*map(max, self, other)) if other else self


@dataclass(frozen=True)
class Answer:
    """A model's answer: a text, a score per option, or an error class with a message."""

    text: str = ""
    scores: tuple[float, ...] = ()
    frames_shown: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    error: str = ""
    message: str = ""
    served_model: str = ""
    """id of the model that answered, as its server reports it"""
    tokens_cached: int = 0
    """tokens of the prompt that the server took from its own cache"""

    @property
    def token_usage(self) -> TokenUsage:
        return TokenUsage(self.tokens_in, self.tokens_out, self.tokens_cached)


@dataclass(frozen=True)
class ModelSpec:
    """The `model` part of a run's key, in the form that the adapter needs."""

    folder: Path | None
    device: str
    threads: int
    dtype: str
    attention: str
    trust_remote_code: bool
    settings: dict[str, Any]
    prompt_start: str = ""
    """text that all prompts of the run begin with"""
    memory: Mapping[int | str, int] | None = None
    """free bytes of each device, by number or name; by default they are detected"""
    has_frames: bool = False
    """whether the run sends frames; a checkpoint that accepts none is then rejected before its weights are loaded"""
    options: tuple[tuple[str, ...], ...] = ()
    """options of the run's scored questions; likewise rejected early if an option is more than one token"""
    largest_clip: LargestClip | None = None
    """clip size for the memory estimate; by default an upper bound for most models"""
    gpus_per_copy: int | None = None
    """number of GPUs that one copy of the model is spread over; by default as few as can hold it"""
    account: Account | None = None
    """account that pays the server; without one, as in a trial, there are no shared limits and costs are not counted"""

    @property
    def without_run_fields(self) -> "ModelSpec":
        """Return the spec without the fields that differ between runs of one model."""
        return replace(self, prompt_start="", has_frames=False, options=(), largest_clip=None)

    @property
    def weights(self) -> Path:
        """Return the folder of a model that has weights."""
        assert self.folder is not None
        return self.folder


@dataclass(eq=False)
class PreparedClip:
    """A clip that is prepared for its model, with the requests about it and the duration of each preparation step."""

    inputs: Any
    step_seconds: dict[str, float]
    size_bytes: int = 0
    """size of the shared memory that carried it, if another process prepared it"""


class AnswerError(Exception):
    """A request failed for a reason that `inference/reasons.py` lists; only that request counts as failed."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


class ReplyError(AnswerError):
    """A server's reply that is rejected before it is read to its end."""


class BrokenReplyError(ReplyError):
    """A malformed reply, such as the page of a proxy or a truncated body; a retry may succeed."""


class ClipFailedError(AnswerError):
    """A clip could not be prepared; all requests about it count as failed."""


class Preparer(Protocol):
    """Prepares a clip's frames and questions as model inputs; works in any process, without the model."""

    def read(self, clip: ClipFrames) -> Any:
        """Return the decoded frames of a clip."""

    def prepare(self, clip: ClipFrames, frames: Any, requests: Sequence[Request]) -> Any:
        """Return the model inputs; they pass between processes, so tensors are numpy arrays."""


class Adapter(Protocol):
    """A model that answers all requests about one clip before the next clip.

    An error that it raises fails the request that was being answered; the remaining ones are sent again without it.
    """

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield one answer per request, in order, each as soon as it is ready."""


@runtime_checkable
class ReusableAdapter(Adapter, Protocol):
    """An adapter that stays loaded for several runs of its model; any other is reloaded if the runs differ."""

    def begin(self, spec: ModelSpec) -> None:
        """Prepare for the next run; raise a UserError if the model does not support its requests."""


class PreparingAdapter(Adapter, Protocol):
    """An adapter whose clips can be prepared ahead by the preparer that `AdapterInfo.preparer` names."""

    preparer: Preparer

    def answers_about(self, prepared_clip: PreparedClip, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield the answers about a prepared clip, in the order of the requests."""


# --- models on servers ------------------------------------------------------------------------------------------------


class PendingRequests(NamedTuple):
    """A clip and the pending requests about it."""

    clip: ClipFrames
    requests: tuple[Request, ...]
    verify_clip: Callable[[], object] = str
    """aborts the job if the clip's file does not match its manifest"""

    def covers(self, other: "PendingRequests") -> bool:
        """Return whether the inputs prepared for these requests also cover those of `other`."""
        return self.clip == other.clip and set(other.requests) <= set(self.requests)


class CompletedResponse(NamedTuple):
    """A completed response or a failure, and the time between request and response."""

    clip: ClipFrames
    request: Request
    answer: Answer
    seconds: float
    step_seconds: Mapping[str, float] = {}
    """duration of each step done once for the clip; recorded with one of its answers"""


@runtime_checkable
class ServedModel(Protocol):
    """A model that answers requests about many clips concurrently."""

    def answers_in_any_order(self, pending_requests: Sequence[PendingRequests]) -> Iterator[CompletedResponse]: ...
