"""Define the interface between the inference job and a model: an adapter's inputs and outputs."""

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
    """name of the request within its item"""
    request_type: str
    """`score` (probabilities of the options), `choose` (text that names an option), `write` or `similarity`"""
    system: str
    prompt: str
    options: tuple[str, ...]
    expected: str
    """correct option; empty unless the adapter needs it (`AdapterInfo.needs_labels`)"""
    max_tokens: int
    lead: str = ""
    """beginning of the prompt, placed before the frames; adapters that always put frames first ignore it"""

    def split_prompt(self) -> tuple[str, str]:
        """Return the texts before and after the frames; without a lead, the whole prompt follows the frames."""
        if not self.lead:
            return "", self.prompt
        return self.lead, self.prompt[len(self.lead) :].removeprefix(" ")


@dataclass(frozen=True)
class ClipFrames:
    """A clip and the frames that its plan selects. In a text-only run, it has no path and no indices."""

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
        """Return the number of pictures that the model receives: one grid, or one picture per frame."""
        return min(1, len(self.indices)) if self.grid else len(self.indices)


class LargestClip(NamedTuple):
    """The largest number of frames that a run sends of one clip, and the largest height and width of a frame."""

    frame_count: int
    height: int
    width: int

    def elementwise_max(self, other: "LargestClip | None") -> "LargestClip":
        """Return the larger frame count, the larger height and the larger width of both clips."""
        return LargestClip(*map(max, self, other)) if other else self


@dataclass(frozen=True)
class Answer:
    """A model's answer: a text, a score per option, or a failure's reason (`inference/reasons.py`) and message."""

    text: str = ""
    scores: tuple[float, ...] = ()
    frames_shown: int = 0
    """number of frames that reached the model"""
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
        """Return the numbers of prompt, answer and cached tokens."""
        return TokenUsage(self.tokens_in, self.tokens_out, self.tokens_cached)


@dataclass(frozen=True)
class ModelSpec:
    """The settings of a model and of its run, in the form that the adapter needs."""

    folder: Path | None
    """folder of the weights; None for a model without weights"""
    device: str
    threads: int
    dtype: str
    attention: str
    trust_remote_code: bool
    settings: dict[str, Any]
    prompt_start: str = ""
    """text that all prompts of the run begin with"""
    free_bytes_by_device: Mapping[int | str, int] | None = None
    """free bytes of each device, by number or name; by default they are detected"""
    has_frames: bool = False
    """whether the run sends frames; if so, a checkpoint that accepts none is rejected before its weights are loaded"""
    option_sets: tuple[tuple[str, ...], ...] = ()
    """distinct option lists of the run's scored requests; the run is rejected early if an option is not one token"""
    largest_clip: LargestClip | None = None
    """clip size for the memory estimate; by default an upper bound for most models"""
    gpus_per_copy: int | None = None
    """number of GPUs that one copy of the model is spread over; by default as few as can hold it"""
    account: Account | None = None
    """account that pays the server; without it, as in a trial, no shared limits apply and no costs are counted"""

    @property
    def without_run_fields(self) -> "ModelSpec":
        """Return the spec without the fields that differ between runs of one model."""
        return replace(self, prompt_start="", has_frames=False, option_sets=(), largest_clip=None)

    @property
    def weights_folder(self) -> Path:
        """Return the folder of a model that has weights."""
        assert self.folder is not None
        return self.folder


@dataclass(eq=False)
class PreparedClip:
    """The model inputs of a clip and of the requests about it, with the duration of each preparation step."""

    inputs: Any
    step_seconds: dict[str, float]
    size_bytes: int = 0
    """size of the shared memory that transferred the inputs from another process; 0 if this process prepared them"""


class AnswerError(Exception):
    """A request failed for a reason that `inference/reasons.py` lists; only that request counts as failed."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


class ReplyError(AnswerError):
    """A server's reply was rejected before its end was read."""


class BrokenReplyError(ReplyError):
    """A reply was malformed, such as a proxy's error page or a truncated body; a retry may succeed."""


class ClipFailedError(AnswerError):
    """A clip could not be prepared; all requests about it count as failed."""


class Preparer(Protocol):
    """Code that prepares a clip's frames and questions as model inputs; works in any process, without the model."""

    def read(self, clip: ClipFrames) -> Any:
        """Return the decoded frames of a clip."""

    def prepare(self, clip: ClipFrames, frames: Any, requests: Sequence[Request]) -> Any:
        """Return the model inputs; they pass between processes, so tensors are numpy arrays."""


class Adapter(Protocol):
    """A model that answers all requests about one clip before the next clip.

    If `answers` raises an error for several requests, each of them is sent again alone.
    """

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield one answer per request, in order, each as soon as it is ready."""


@runtime_checkable
class ReusableAdapter(Adapter, Protocol):
    """An adapter that can serve several runs of its model; all other adapters are reloaded if the runs differ."""

    def begin_run(self, spec: ModelSpec) -> None:
        """Prepare for the next run; raise a UserError if the model does not support its requests."""


class PreparingAdapter(Adapter, Protocol):
    """An adapter whose clips worker processes can prepare ahead, by the preparer that `AdapterInfo.preparer` names."""

    preparer: Preparer

    def answers_about(self, prepared_clip: PreparedClip, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield the answers about a prepared clip, in the order of the requests."""


# --- pending requests and responses -----------------------------------------------------------------------------------


def skip_verification() -> None:
    """Do nothing, for clips whose files need no verification."""


class PendingRequests(NamedTuple):
    """A clip and the pending requests about it."""

    clip: ClipFrames
    requests: tuple[Request, ...]
    verify_clip: Callable[[], object] = skip_verification
    """aborts the job if the clip's file does not match its manifest"""

    def covers(self, other: "PendingRequests") -> bool:
        """Return whether the inputs prepared for these requests also cover those of `other`."""
        return self.clip == other.clip and set(other.requests) <= set(self.requests)


class CompletedResponse(NamedTuple):
    """An answer or a failure, and the seconds between request and response."""

    clip: ClipFrames
    request: Request
    answer: Answer
    seconds: float
    step_seconds: Mapping[str, float] = {}
    """seconds of each step that is done once per clip; recorded with one of the clip's answers"""


@runtime_checkable
class ServedModel(Protocol):
    """A model that answers requests about many clips concurrently."""

    def answers_in_any_order(self, pending_requests: Sequence[PendingRequests]) -> Iterator[CompletedResponse]:
        """Yield each response as soon as it arrives."""
