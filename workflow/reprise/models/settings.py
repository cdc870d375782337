"""The `settings:` of every adapter. It imports neither torch nor an SDK, because the configuration imports it."""

from functools import partial
from operator import not_
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from reprise.core.settings import Settings, mistake
from reprise.models.local.weights import Quantised
from reprise.models.options import shared_token
from reprise.models.remote.settings import RemoteSettings

# Fields of a request that other settings or the question determine.
OWN_FIELDS = frozenset({
    "model", "messages", "max_tokens", "max_completion_tokens", "temperature", "stream", "n", "logprobs",
    "top_logprobs", "logprob_token_ids", "return_tokens_as_token_ids", "media_io_kwargs",
})  # fmt: skip

# Arguments that the workflow passes to every chat template, and those of the function that renders it.
OWN_ARGUMENTS = frozenset({
    "add_generation_prompt", "chat_template", "conversation", "continue_final_message", "documents", "max_length",
    "load_audio_from_video", "messages", "padding", "processor_kwargs", "return_assistant_tokens_mask", "return_dict",
    "return_tensors", "sanitize_control_tokens", "tokenize", "tokenizer_kwargs", "tools", "truncation",
})  # fmt: skip
HALF = 0.5


def _reject_reserved(reserved: frozenset[str], settings: dict[str, Any]) -> dict[str, Any]:
    """Reject keys that the workflow sets itself."""
    if conflicts := sorted(reserved & settings.keys()):
        raise mistake(f"{', '.join(conflicts)}: not here; the protocol, other settings or the workflow say so.")
    return settings


def _reject_shared_token(tokens: dict[str, int]) -> dict[str, int]:
    if problem := shared_token(tokens):
        raise mistake(problem)
    return tokens


class NoSettings(Settings):
    """An adapter without settings."""


class ScoredSettings(Settings):
    """Settings of adapters that can give the probabilities of options."""

    option_share: float = Field(HALF, ge=0, le=1, exclude_if=HALF.__eq__)
    """The least probability that the options of a scored question hold together, in the mean of the first questions, or
    the least share of chosen answers that name an option before they are cut. With less the run ends there: such a
    model begins its answers with other words, such as a thought. Lower it only for a model that is known to do so."""


class LocalSettings(ScoredSettings):
    """Settings of adapters that load a language model."""

    template_arguments: Annotated[
        dict[str, bool | int | str], AfterValidator(partial(_reject_reserved, OWN_ARGUMENTS))
    ] = Field({}, exclude_if=not_)
    """Arguments of the checkpoint's chat template, such as `{enable_thinking: false}` for a model that thinks."""
    max_tokens: int | None = Field(None, ge=1, exclude_if=not_)
    """Most tokens of an answer in place of the protocol's number: a model that thinks before it answers needs more.
    What it thought is no part of its answer; a thought that does not end fails the question, `still_thinking`."""
    quantised: Quantised | None = None
    """How the weights are quantised; tables say so. `int8` and `nf4`: on loading, by bitsandbytes. All others: the
    checkpoint is, by the method that its `config.json` names."""


class TransformersSettings(LocalSettings):
    """Settings of the adapter `transformers`. The limits of pixels are those of one frame as the model sees it."""

    frames: Literal["video", "images"] | None = None
    """How frames are shown: as one `video`, or as `images`, one a frame. By default as a video where processor and
    chat template take one, else as images."""
    min_pixels: int | None = Field(None, ge=1)
    """Least pixels of a frame; smaller ones are enlarged. By default what the checkpoint says."""
    max_pixels: int | None = Field(None, ge=1)
    """Most pixels of a frame; larger ones are made smaller. By default what the checkpoint says."""
    total_pixels: int | None = Field(None, ge=1)
    """Most pixels of all frames together, two frames counted as one, as `qwen_vl_utils` does: with many frames each
    gets fewer, down to 1.05 times `min_pixels`. Needs the two others."""

    engine: Literal["shared", "plain"] = "shared"
    """`shared`: what all questions about a clip begin with is encoded once, where the model's class allows it. `plain`:
    each question is asked from its beginning; the same numbers but for rounding."""

    @model_validator(mode="after")
    def _check_pixel_limits(self) -> Self:
        if self.total_pixels is not None and None in (self.min_pixels, self.max_pixels):
            raise mistake("total_pixels needs min_pixels and max_pixels beside it.")
        if self.min_pixels is not None and self.max_pixels is not None and self.min_pixels > self.max_pixels:
            raise mistake(f"min_pixels {self.min_pixels} is more than max_pixels {self.max_pixels}.")
        return self


class TextSettings(LocalSettings):
    """Settings of the adapter `text`."""

    head: Literal["vera"] | None = None
    """`vera`: the encoder has VERA's head and gives plausibilities, for protocols that ask `similarity`."""


class OpenAISettings(ScoredSettings, RemoteSettings):
    """Settings of the adapter `openai`: a server, or a vendor, that answers OpenAI's chat completions."""

    server: str | None = None
    """What answers there, such as `vllm 0.33.0, bfloat16`. It stands in the run's key in place of `url`, which may then
    change without a question being asked again. By default the `url`."""
    version: str | None = None
    """The version that a server of your own must say of itself at `/version`, such as `0.32.0`. By default any."""

    frames: Literal["images", "video"] | None = "images"
    """How frames are sent, always lossless: as `images`, one a frame, or as one `video`, a list of frames with their
    times as vLLM reads it (its server needs `--trust-request-mm-kwargs`). By default `images`; a model with
    `served_by: vllm` has no default, since a video model that is shown images is not told when each of them is."""
    detail: Literal["low", "high", "auto"] | None = Field(None, exclude_if=not_)
    """The detail in which OpenAI's models see an image; it is sent with each one. By default nothing is sent. The
    `detail` of a protocol takes precedence."""
    check_frames: bool = True
    """Whether a server that counts the tokens of prompts is tested for cutting lists of frames: one more request for
    each clip that shows more frames than any before, two frames fewer, whose count must be smaller."""
    frames_once: bool = False
    """Whether the frames of a clip are sent with its first question alone, under an id (`uuid`) that vLLM keeps; with a
    later question that says that it has dropped them, they are sent again. A model with `served_by: vllm` does so by
    itself."""
    scores: Literal["logprob_token_ids", "similarity"] | None = None
    """How the server gives the probability of any token: by `logprob_token_ids`, as vLLM does. By default it does not,
    and protocols that ask `score` are refused. `similarity`: of a program that compares captions with clips, and is
    asked by protocols that ask `similarity` alone."""
    option_tokens: Annotated[dict[str, Annotated[int, Field(ge=0)]], AfterValidator(_reject_shared_token)] = Field({})
    """Option -> its token, for scores at a server that has no `/tokenize`."""

    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The field of a request that says how many tokens an answer may have."""
    body: Annotated[dict[str, Any], AfterValidator(partial(_reject_reserved, OWN_FIELDS))] = Field({})
    """Other fields of every request, such as `reasoning_effort: low`."""

    @model_validator(mode="before")
    @classmethod
    def _default_server(cls, content: Any) -> Any:
        if isinstance(content, dict) and content.get("server") is None and "url" in content:
            return {**content, "server": content["url"]}
        return content


class ConstantSettings(Settings):
    """Settings of the adapter `constant`."""

    option: int = Field(0, ge=0)
    """Which option it takes, counted from 0."""
    text: str = ""
    """Its answer to open questions."""


class RandomSettings(Settings):
    """Settings of the adapter `random`."""

    seed: int = 0
    """Seed of the draws."""
    texts: list[str] = Field([])
    """Sentences from which it draws the answer to an open question; by default none, and the answer is empty."""


class WordMatchSettings(Settings):
    """Settings of the adapter `wordmatch`."""

    measure: Literal["f1", "recall"] = "f1"
    """Measure of the words that answer and reference share."""


class VerbWords(Settings):
    """How the adapter `templates` says a verb."""

    says: str
    """Its words after the agent, such as `slides left`."""
    manners: list[str] = Field(min_length=2, max_length=2)
    """Its manner and the opposite one."""


class Replacement(Settings):
    """Words of a caption that the adapter `templates` replaces where a false one is wanted."""

    says: str
    """The words as they are."""
    instead: str
    """What stands there instead."""
    category: str
    """What kind of change it is, where that is asked."""


class TemplatesSettings(Settings):
    """Settings of the adapter `templates`: all the words that it knows."""

    verbs: dict[str, VerbWords] = Field({})
    """Verb, as the annotations write it in brackets -> its words."""
    pairs: list[list[str]] = Field([])
    """Pairs of captions that it lists where it is asked for counterfactual ones."""
    replacements: list[Replacement] = Field([])
    """What it replaces where it is asked for false captions of one."""


class ImportSettings(Settings):
    """Settings of the adapter `import`, for files that are not where their run's name says.

    All folders are inside `resources/imports/<benchmark>/<slug>/`; `.` is that folder itself.
    """

    runs: dict[str, str] = Field({})
    """`<benchmark>/<protocol>/<sampling>` -> folder of this model's answers."""
    names: list[str] = Field([])
    """Names, besides its slug, by which the reference harness calls this judge: `<predictions>_<name>_score.xlsx`."""
    ratings: dict[str, str] = Field({})
    """`<benchmark>/<protocol>/<sampling>/<model>` -> folder of this judge's ratings of that run."""
