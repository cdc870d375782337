"""Define the `settings:` of every adapter, without importing torch or an SDK.

The configuration imports this module to validate model files. `exclude_if` omits a default value from the keys of
runs, so that a new setting does not change existing keys.
"""

from functools import partial
from operator import not_
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from reprise.core.settings import Settings, setting_error
from reprise.models.local.weights import Quantisation
from reprise.models.options import describe_shared_token
from reprise.models.remote.settings import RemoteSettings

# Fields of a request that other settings or the question determine.
RESERVED_FIELDS = frozenset({
    "model", "messages", "max_tokens", "max_completion_tokens", "temperature", "stream", "n", "logprobs",
    "top_logprobs", "logprob_token_ids", "return_tokens_as_token_ids", "media_io_kwargs",
})  # fmt: skip

# Arguments that the workflow passes to every chat template, and the arguments of `apply_chat_template` itself.
RESERVED_TEMPLATE_ARGUMENTS = frozenset({
    "add_generation_prompt", "chat_template", "conversation", "continue_final_message", "documents", "max_length",
    "load_audio_from_video", "messages", "padding", "processor_kwargs", "return_assistant_tokens_mask", "return_dict",
    "return_tensors", "sanitize_control_tokens", "tokenize", "tokenizer_kwargs", "tools", "truncation",
})  # fmt: skip
DEFAULT_OPTION_SHARE = 0.5


def _reject_reserved(reserved: frozenset[str], settings: dict[str, Any]) -> dict[str, Any]:
    """Reject keys that the workflow sets itself."""
    if conflicts := sorted(reserved & settings.keys()):
        raise setting_error(
            f"{', '.join(conflicts)}: set by the protocol, by other settings or by the workflow. Remove it here."
        )
    return settings


def _reject_shared_token(tokens: dict[str, int]) -> dict[str, int]:
    if problem := describe_shared_token(tokens):
        raise setting_error(problem)
    return tokens


class NoSettings(Settings):
    """An adapter without settings."""


class ScoredSettings(Settings):
    """Settings of adapters that can give the probabilities of options."""

    option_share: float = Field(DEFAULT_OPTION_SHARE, ge=0, le=1, exclude_if=DEFAULT_OPTION_SHARE.__eq__)
    """For scores: minimum probability of all options together, on average over the first requests. For answers in
    words: minimum share of the first answers that name an option. Below it, the run ends early with an error,
    because the model begins its answers with other words, such as reasoning."""


class LocalSettings(ScoredSettings):
    """Settings of adapters that load a language model."""

    template_arguments: Annotated[
        dict[str, bool | int | str], AfterValidator(partial(_reject_reserved, RESERVED_TEMPLATE_ARGUMENTS))
    ] = Field({}, exclude_if=not_)
    """Arguments of the checkpoint's chat template, such as `{enable_thinking: false}` for a reasoning model."""
    max_tokens: int | None = Field(None, ge=1, exclude_if=not_)
    """Maximum number of tokens of an answer, instead of the protocol's number. A reasoning model needs more. If its
    reasoning does not end within the limit, the request fails as `still_thinking`."""
    quantised: Quantisation | None = None
    """Quantisation of the weights, which tables report. bitsandbytes applies `int8` and `nf4` on loading; other values
    name the method in the checkpoint's `config.json`."""


class TransformersSettings(LocalSettings):
    """Settings of the adapter `transformers`. Pixel limits apply to one frame as the model receives it."""

    frames: Literal["video", "images"] | None = None
    """How the model gets frames: as one `video` or as `images`. By default as a video if the processor and the chat
    template accept one."""
    min_pixels: int | None = Field(None, ge=1)
    """Minimum pixels per frame; smaller frames are enlarged. By default the checkpoint's own limit."""
    max_pixels: int | None = Field(None, ge=1)
    """Maximum pixels per frame; larger frames are downscaled. By default the checkpoint's own limit."""
    total_pixels: int | None = Field(None, ge=1)
    """Maximum number of pixels of all frames together, where two frames count as one, as in `qwen_vl_utils`. Requires
    `min_pixels` and `max_pixels`."""

    engine: Literal["shared", "plain"] = "shared"
    """`shared` encodes the common prefix of all requests about a clip once, `plain` each request from its beginning."""

    @model_validator(mode="after")
    def _check_pixel_limits(self) -> Self:
        if self.total_pixels is not None and None in (self.min_pixels, self.max_pixels):
            raise setting_error("total_pixels requires min_pixels and max_pixels.")
        if self.min_pixels is not None and self.max_pixels is not None and self.min_pixels > self.max_pixels:
            raise setting_error(f"min_pixels {self.min_pixels} is greater than max_pixels {self.max_pixels}.")
        return self


class TextSettings(LocalSettings):
    """Settings of the adapter `text`."""

    head: Literal["vera"] | None = None
    """`vera`: the model is VERA, which returns the plausibility of a text, for protocols with `request_type:
    similarity`."""


class OpenAISettings(ScoredSettings, RemoteSettings):
    """Settings of the adapter `openai`: a server or vendor with OpenAI's chat completions API."""

    server: str | None = None
    """Description of the server, such as `vllm 0.33.0, bfloat16`; by default the `url`. If it changes, the model is
    queried again."""
    version: str | None = None
    """Version that your own server must report at `/version`, such as `0.32.0`. By default any version."""

    frames: Literal["images", "video"] | None = "images"
    """How frames are sent, always losslessly: as `images`, or as one `video` with times in vLLM's format (the server
    needs `--trust-request-mm-kwargs`). Required with `served_by: vllm`, because a video model that receives images does
    not know their times."""
    detail: Literal["low", "high", "auto"] | None = Field(None, exclude_if=not_)
    """Level of detail at which OpenAI's models process each image. The `detail` of a protocol takes precedence."""
    check_frames: bool = True
    """Whether to find out from token counts if the server drops frames. This needs an additional request for each
    clip that has more frames than all clips before it."""
    frames_once: bool = False
    """Whether to send the frames of a clip only with its first request, under an id that vLLM caches. Always on with
    `served_by: vllm`."""
    scores: Literal["logprob_token_ids", "similarity"] | None = None
    """How the server returns scores: `logprob_token_ids`, the probability of any token, as vLLM does; or `similarity`,
    for a model runner that compares captions with clips. By default there are no scores."""
    option_tokens: Annotated[dict[str, Annotated[int, Field(ge=0)]], AfterValidator(_reject_shared_token)] = Field({})
    """Token of each option, for scores from a server that has no `/tokenize`."""

    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Name of the request field that limits the number of answer tokens."""
    body: Annotated[dict[str, Any], AfterValidator(partial(_reject_reserved, RESERVED_FIELDS))] = Field({})
    """Further fields of every request, such as `reasoning_effort: low`."""

    @model_validator(mode="before")
    @classmethod
    def _default_server(cls, content: Any) -> Any:
        if isinstance(content, dict) and content.get("server") is None and "url" in content:
            return {**content, "server": content["url"]}
        return content


class ConstantSettings(Settings):
    """Settings of the adapter `constant`."""

    option: int = Field(0, ge=0)
    """Index of the option that it chooses, from 0."""
    text: str = ""
    """Answer to open questions."""


class RandomSettings(Settings):
    """Settings of the adapter `random`."""

    seed: int = 0
    """Random seed."""
    texts: list[str] = Field([])
    """Sentences from which the answer to an open question is drawn; by default the answer is empty."""


class WordMatchSettings(Settings):
    """Settings of the adapter `wordmatch`."""

    measure: Literal["f1", "recall"] = "f1"
    """How to measure which words the answer and the reference have in common."""


class VerbWords(Settings):
    """Words of a verb for the adapter `templates`."""

    says: str
    """Words after the agent, such as `slides left`."""
    manners: list[str] = Field(min_length=2, max_length=2)
    """A manner and its opposite."""


class Replacement(Settings):
    """Words of a caption that the adapter `templates` replaces to write a false one."""

    says: str
    """Words to replace."""
    instead: str
    """Replacement."""
    category: str
    """Category of the change, for prompts that request it."""


class TemplatesSettings(Settings):
    """Settings of the adapter `templates`: all words that it uses."""

    verbs: dict[str, VerbWords] = Field({})
    """For each verb, named as in the brackets of the annotations, the words that describe it."""
    pairs: list[list[str]] = Field([])
    """Caption pairs that answer a prompt for counterfactual captions."""
    replacements: list[Replacement] = Field([])
    """Replacements that answer a prompt for false captions."""


class ImportSettings(Settings):
    """Settings of the adapter `import`, for files that are not in the folder that the run's name implies.

    All folders are relative to `resources/imports/<benchmark>/<slug>/`; `.` is that folder itself.
    """

    runs: dict[str, str] = Field({})
    """For each run, as `<benchmark>/<protocol>/<sampling>`, the folder with this model's answers."""
    names: list[str] = Field([])
    """Other names of this judge, as VLMEvalKit writes them into the names of its files
    `<predictions>_<name>_score.xlsx`."""
    ratings: dict[str, str] = Field({})
    """For each run, as `<benchmark>/<protocol>/<sampling>/<model>`, the folder with this judge's ratings."""
