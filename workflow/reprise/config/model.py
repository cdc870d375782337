"""`config/models/<slug>.yaml`, one model and all that shapes its answers, and `config/external.yaml`."""

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, RootModel, Tag, ValidationInfo, field_validator, model_validator

from reprise.config.names import Slug, text_or_group
from reprise.core.errors import choices
from reprise.core.names import REVISION
from reprise.core.settings import Day, FilePath, InWords, Settings, mistake
from reprise.models.adapters import ADAPTERS
from reprise.models.asking.money.prices import Price
from reprise.models.asking.pieces import MOST_PIECES
from reprise.models.remote.serving.settings import ServedBy
from reprise.models.settings import ImportSettings
from reprise.reading.keys import Pattern

# Settings that only models with weights have.
WEIGHT_SETTINGS = (
    "checkpoint", "repo", "revision", "weights_bytes", "dtype", "attention", "trust_remote_code", "gpus_per_copy",
)  # fmt: skip
# Settings that the job determines when it starts a model's server, and defaults for such a server.
JOB_SETTINGS = ("url", "model", "server", "served_as", "key", "version")
HOSTED = {"url": "http://127.0.0.1/v1", "model": "(by the job)", "scores": "logprob_token_ids"}
OF_PROGRAM = ("frames", "check_frames", "timeout_s", "option_tokens")
RUNNER_CONCURRENCY = 2  # Concurrent requests to a model runner, which answers one while another is queued.


class ServedUntil(Settings):
    """When a vendor ends a model."""

    date: Day
    """The last day on which it is served, such as `2026-12-11`."""
    source: str = Field(min_length=1)
    """Where the vendor says so."""


class Model(Settings):
    """`config/models/<slug>.yaml`: one model and all that shapes its answers."""

    label: str
    """The model's name, for people."""
    adapter: str
    """How the model is asked (docs/reference/models.md says which adapter is for what)."""
    checkpoint: FilePath | None = None
    """Folder of weights (`*.safetensors`) on this machine; either this or `repo`."""
    repo: str | None = None
    """Repository of weights on the Hugging Face hub, `<owner>/<name>`."""
    revision: str | None = Field(None, pattern=REVISION)
    """Commit of the repository; `unpinned` until `python -m reprise pin <slug>` has written it. An unpinned model
    refuses to run."""
    weights_bytes: int | None = Field(None, ge=0)
    """Size of the repository's weights, which `python -m reprise pin <slug>` writes: until they are fetched,
    `python -m reprise plan` knows it from here."""
    gpus: int = Field(0, ge=0)
    """Number of GPUs that its job is given: the model is spread over as many as hold it, copies of it take the rest."""
    gpus_per_copy: int | None = Field(None, ge=1)
    """Number of GPUs that one copy of the model is spread over, a divisor of `gpus`; each has more room for clips. By
    default as few as hold the model and the largest clip of its run."""
    memory_mb: int = Field(2000, ge=100)
    """Main memory that it needs, in MB; with `gpus_per_copy`, that each copy needs."""
    threads: int = Field(1, ge=1)
    """Number of CPU threads; on GPUs at least 8 for each copy, which prepare its clips."""
    hours: float = Field(8.0, gt=0)
    """Time that its job asks a cluster for; one that is cut off is sent again with more, and goes on where it was."""
    pieces: int = Field(1, ge=1, le=MOST_PIECES)
    """Number of jobs that ask each of its runs, each about a share of the clips; as a judge it is asked by one job.
    Changing it asks nothing again."""
    reference: bool = False
    """Whether it is a yardstick for models, as people and guessers are: no table marks its numbers as best."""
    dtype: Literal["float32", "bfloat16", "float16", "checkpoint"] = "float32"
    """Number format of the weights; `checkpoint`: the one that the checkpoint's configuration names."""
    attention: Literal["sdpa", "eager", "flash_attention_2"] = "sdpa"
    """Implementation of attention."""
    trust_remote_code: bool = False
    """Whether code of the repository may run on this machine."""
    served_by: ServedBy | None = None
    """The server that the run's job starts for the model, asks by adapter `openai`, and ends: `vllm`, or a group of
    settings, such as those of a program of the model's own. By default none: another adapter loads the weights itself,
    or the server runs already."""
    settings: dict[str, Any] = Field({}, validate_default=True)
    """Settings of the adapter."""
    patterns: list[Pattern] = Field([])
    """Rows by which `robust` reads this model's answers before its own table (docs/reference/readers.md)."""
    served_until: ServedUntil | None = None
    """Of a vendor's model the last day; after it each run says so."""
    price: Price | None = None
    """What a vendor takes for its tokens; by default unknown. A model with a key and a price is asked within
    `budget_usd:` of the suite, one without a price within `budget_tokens:`."""

    @field_validator("adapter")
    @classmethod
    def _known_adapter(cls, name: str) -> str:
        if name not in ADAPTERS:
            raise mistake(f"unknown adapter '{name}'.{choices(name, ADAPTERS)}")
        return name

    @field_validator("settings")
    @classmethod
    def _checked_settings(cls, settings: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        """Return the adapter's settings with its defaults, so that writing out a default changes no key."""
        adapter, served = ADAPTERS.get(info.data.get("adapter", "")), info.data.get("served_by")
        if adapter is None or "served_by" not in info.data:  # These fields have other problems.
            return settings
        if served is None or not adapter.is_hosted:
            return adapter.settings.model_validate(settings).model_dump()
        needless = [name for name in JOB_SETTINGS + (OF_PROGRAM if served.program else ()) if name in settings]
        if needless:
            raise mistake(f"served_by: the job starts the server, and says {', '.join(needless)}. Remove them here.")
        defaults: dict[str, Any] = {"max_images": served.max_frames} if settings.get("frames") != "video" else {}
        defaults |= {"frames": None, "frames_once": True}  # Frames are only sent in a form that a user chose.
        if served.program is not None:
            seconds = 60 * served.answer_minutes * (settings.get("concurrency", RUNNER_CONCURRENCY) + 1)
            defaults = {
                "frames": "video",
                "check_frames": False,
                "concurrency": RUNNER_CONCURRENCY,
                "timeout_s": seconds,
            }
        completed = adapter.settings.model_validate(HOSTED | defaults | settings).model_dump()
        return {name: value for name, value in completed.items() if name not in JOB_SETTINGS}

    @model_validator(mode="after")
    def _settings_fit_each_other(self) -> Self:
        adapter, program = ADAPTERS[self.adapter], self.served_by is not None and self.served_by.program is not None
        if self.served_by is not None and not adapter.is_hosted:
            hosted = ", ".join(name for name, candidate in ADAPTERS.items() if candidate.is_hosted)
            raise mistake(f"served_by: adapter '{self.adapter}' asks no server of that kind. Use: {hosted}.")
        if self.adapter == "openai" and self.settings.get("scores") == "similarity" and not program:
            raise mistake("settings.scores: only a program gives 'similarity'. Use logprob_token_ids, or null.")
        if self.price is not None and not adapter.is_paid(self.settings):
            raise mistake("price: this model has no settings.key, so that nobody is paid. Remove it, or name the key.")
        if self.gpus_per_copy is not None and (self.gpus == 0 or self.gpus % self.gpus_per_copy):
            raise mistake(
                f"gpus_per_copy: {self.gpus_per_copy} does not divide `gpus: {self.gpus}`. Use 1, `gpus` itself, or "
                "another divisor of it."
            )
        if self.adapter == "contrastive" and (self.gpus_per_copy or 1) > 1:
            raise mistake("gpus_per_copy: a model of adapter 'contrastive' is on one GPU. Use 1, or remove it.")
        unused = [
            *(["attention", "gpus_per_copy"] if self.served_by else ()),  # The server chooses them.
            *(["dtype"] if program else ()),  # The model runner chooses it.
            *(["pieces"] if adapter.is_import else ()),  # No model is queried.
            *(() if self.has_weights else WEIGHT_SETTINGS),
        ]
        conflicts = [name for name in unused if name in self.model_fields_set]
        if conflicts:
            by = "the job's server" if self.served_by else f"adapter '{self.adapter}'"
            raise mistake(f"{by} does not go by: {', '.join(conflicts)}. Remove what this names.")
        if self.has_weights and (self.checkpoint is None) == (self.repo is None):
            raise mistake("set either checkpoint (a local folder) or repo (a hub id), not both.")
        if self.repo is not None and self.revision is None:
            raise mistake("revision: missing; write `unpinned` and run `python -m reprise pin` to resolve it.")
        return self

    @property
    def has_weights(self) -> bool:
        """Return whether a job loads weights for the model, itself or in a server that it starts."""
        return ADAPTERS[self.adapter].needs_weights or self.served_by is not None

    @property
    def files(self) -> list[str]:
        """Return additional files of the weights that the model runner reads."""
        return self.served_by.files if self.served_by else []

    @property
    def is_remote(self) -> bool:
        """Return whether the model runs on another machine, so that this machine's GPUs do not matter."""
        return ADAPTERS[self.adapter].is_remote and self.served_by is None

    @property
    def quantised(self) -> str | None:
        """Return how the weights are quantised, or None if they are not."""
        method = self.served_by.quantised if self.served_by else self.settings.get("quantised")
        return None if method is None else str(method)


class ExternalModel(ImportSettings):
    """A model whose answers, or ratings, were made elsewhere."""

    label: str
    """The model's name, for people."""
    reference: bool = False
    """Whether it is a yardstick for models, as people are: no table marks its numbers as best."""


Entry = Annotated[
    Annotated[str, Tag("(text)")] | Annotated[ExternalModel, Tag("(group)")], Discriminator(text_or_group)
]


class External(InWords, RootModel[dict[Slug, Entry]]):
    """`config/external.yaml`: models whose answers were made elsewhere, `slug: label` or `slug: {label: ..., ...}`."""

    def models(self) -> dict[str, Model]:
        """Return each entry as the settings that a file of its own would have."""
        full = {
            slug: ExternalModel(label=entry) if isinstance(entry, str) else entry for slug, entry in self.root.items()
        }
        return {
            slug: Model(
                label=entry.label,
                adapter="import",
                reference=entry.reference,
                settings=entry.model_dump(include=set(ImportSettings.model_fields)),
            )
            for slug, entry in full.items()
        }
