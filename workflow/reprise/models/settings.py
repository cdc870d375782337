"""`settings:` of every adapter. Imports neither torch nor an SDK, so that a configuration can."""

import re
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from reprise.core.plain import SECRET_NAMES
from reprise.core.settings import Settings, mistake
from reprise.models.quantised import Quantised

BARE_URL = re.compile(r"https?://[^\s@?#/]+(?:/[^\s@?#]*)?")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Fields of a request that other settings, or the question, determine.
OWN_FIELDS = frozenset({
    "model", "messages", "max_tokens", "max_completion_tokens", "temperature", "stream", "n", "logprobs",
    "top_logprobs", "logprob_token_ids", "return_tokens_as_token_ids", "media_io_kwargs",
})  # fmt: skip


class NoSettings(Settings):
    """An adapter without settings."""


class TransformersSettings(Settings):
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
    quantised: Quantised | None = None
    """How the weights are quantised; tables say so. `int8` and `nf4`: on loading, by bitsandbytes. All others: the
    checkpoint is, by the method that its `config.json` names."""

    @model_validator(mode="after")
    def _limits_that_agree(self) -> Self:
        if self.total_pixels is not None and None in (self.min_pixels, self.max_pixels):
            raise mistake("total_pixels needs min_pixels and max_pixels beside it.")
        if self.min_pixels is not None and self.max_pixels is not None and self.min_pixels > self.max_pixels:
            raise mistake(f"min_pixels {self.min_pixels} is more than max_pixels {self.max_pixels}.")
        return self


class TextSettings(Settings):
    """Settings of the adapter `text`."""

    head: Literal["vera"] | None = None
    """`vera`: the encoder has VERA's head and gives plausibilities, for protocols that ask `similarity`."""
    quantised: Quantised | None = None
    """As of the adapter `transformers`."""

    @model_validator(mode="after")
    def _head_of_plain_weights(self) -> Self:
        if self.head is not None and self.quantised is not None:
            raise mistake(f"head: {self.head} is read from plain weights. Remove `quantised`.")
        return self


class OpenAISettings(Settings):
    """Settings of the adapter `openai`: a server, or a vendor, that answers OpenAI's chat completions."""

    url: str
    """Where the server answers, such as `http://127.0.0.1:8000/v1`."""
    model: str = Field(min_length=1)
    """The model's name at the server."""
    served_as: str | None = None
    """The model id that its answers carry, where that is another than `model`, such as a dated one. An answer of any
    other id is a failure, `other_model`."""
    server: str | None = None
    """What answers there, such as `vllm 0.33.0, bfloat16`. It stands in the run's key in place of `url`, which may then
    change without a question being asked again. By default the `url`."""
    version: str | None = None
    """The version that a server of your own must say of itself at `/version`, such as `0.32.0`. By default any."""
    key: str | None = None
    """Name of the environment variable that holds the key; none for a server that asks for none. A model with a key
    also needs `budget_usd:` above zero in the suite."""

    frames: Literal["images", "video"] = "images"
    """How frames are sent, always lossless: as `images`, one a frame, or as one `video`, a list of frames with their
    times as vLLM reads it (its server needs `--trust-request-mm-kwargs`)."""
    max_images: int | None = Field(None, ge=1)
    """Most frames that the server takes in a request. A run that shows more is refused before anything is asked."""
    check_frames: bool = True
    """Whether a server that counts the tokens of prompts is tested for cutting lists of frames: one more request for
    each clip that shows more frames than any before, two frames fewer, whose count must be smaller."""
    scores: Literal["logprob_token_ids"] | None = None
    """How the server gives the probability of any token: by `logprob_token_ids`, as vLLM does. By default it does not,
    and protocols that ask `score` are refused."""
    option_tokens: dict[str, int] = Field({})
    """Option -> its token, for scores at a server that has no `/tokenize`."""

    max_tokens: int | None = Field(None, ge=1)
    """Most tokens of an answer in place of the protocol's number: a model that thinks before it answers needs more."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The field of a request that says so."""
    temperature: float | None = Field(0, ge=0)
    """Temperature; `null` sends none, for models that refuse it."""
    body: dict[str, Any] = Field({})
    """Other fields of every request, such as `reasoning_effort: low`."""

    concurrency: int = Field(8, ge=1)
    """Most questions on their way at a time."""
    timeout_s: float = Field(300, gt=0)
    """Seconds after which a request without an answer is sent again."""
    retries: int = Field(5, ge=0)
    """How often a request is sent again after a time-out, a lost connection, HTTP 429 or HTTP 5xx, ever later or when
    the server says. After that the question fails, until the workflow runs again."""

    @model_validator(mode="before")
    @classmethod
    def _named_server(cls, content: Any) -> Any:
        if isinstance(content, dict) and content.get("server") is None and "url" in content:
            return {**content, "server": content["url"]}
        return content

    @field_validator("url")
    @classmethod
    def _bare_url(cls, url: str) -> str:
        """What is wrong with it is not repeated: it may hold a key."""
        if not BARE_URL.fullmatch(url):
            raise mistake("should be an address such as http://127.0.0.1:8000/v1, without a user, a key or a query.")
        return url

    @field_validator("key")
    @classmethod
    def _hidden_key(cls, name: str | None) -> str | None:
        """What logs hide, they know by the variable's name."""
        if name is not None and not (VARIABLE.fullmatch(name) and SECRET_NAMES.search(name)):
            raise mistake(
                "should be the name of an environment variable, with API_KEY, TOKEN or SECRET in it, so that its "
                "value is hidden in logs. Such as: OPENAI_API_KEY."
            )
        return name

    @field_validator("body")
    @classmethod
    def _other_fields(cls, body: dict[str, Any]) -> dict[str, Any]:
        own = sorted(OWN_FIELDS & body.keys())
        if own:
            raise mistake(f"{', '.join(own)}: not here; other settings or the protocol say so.")
        return body


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


class ImportSettings(Settings):
    """Settings of the adapter `import`: for files that are not where their run's name says. All folders are inside
    `resources/imports/<benchmark>/<slug>/`; `.` is that folder itself."""

    runs: dict[str, str] = Field({})
    """`<benchmark>/<protocol>/<sampling>` -> folder of this model's answers."""
    names: list[str] = Field([])
    """Names, besides its slug, by which the reference harness calls this judge: `<predictions>_<name>_score.xlsx`."""
    ratings: dict[str, str] = Field({})
    """`<benchmark>/<protocol>/<sampling>/<model>` -> folder of this judge's ratings of that run."""
