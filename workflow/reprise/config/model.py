"""Settings of a model in `config/models/<slug>.yaml`, and of the models in `config/external.yaml`."""

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, RootModel, Tag, ValidationInfo, field_validator, model_validator

from reprise.config.names import Label, Slug, get_entry_tag
from reprise.core.errors import describe_choices
from reprise.core.names import REVISION
from reprise.core.settings import Day, FilePath, Settings, StrictModel, setting_error
from reprise.extraction.keys import Pattern
from reprise.models.adapters import ADAPTERS
from reprise.models.inference.money.prices import Price
from reprise.models.inference.partitions import MAX_PARTITIONS
from reprise.models.remote.serving.settings import ServerSettings
from reprise.models.settings import ImportSettings

# Settings that only models with weights have.
WEIGHT_SETTINGS = (
    "checkpoint", "repo", "revision", "weights_bytes", "dtype", "attention", "trust_remote_code", "gpus_per_copy",
)  # fmt: skip
# Settings that a job sets when it starts the model's server.
JOB_SETTINGS = ("url", "model", "server", "served_as", "key", "version")
# Values that required settings have until the job sets them, and the default for `scores` of such a server.
JOB_SERVER_DEFAULTS = {"url": "http://127.0.0.1/v1", "model": "(by the job)", "scores": "logprob_token_ids"}
# Settings that a job also sets if the server is a model runner.
RUNNER_ONLY_SETTINGS = ("frames", "check_frames", "timeout_s", "option_tokens")
RUNNER_CONCURRENCY = 2  # Concurrent requests to a model runner: one is answered while the other is queued.


class ServedUntil(Settings):
    """When a vendor retires a model."""

    date: Day
    """Last day of service, such as `2026-12-11`."""
    source: str = Field(min_length=1)
    """Source of the date, such as a page of the vendor."""


class Model(Settings):
    """`config/models/<slug>.yaml`: one model, and all settings that its responses depend on."""

    label: Label
    """Display name. If models of the suite share one, the name of the file is added in parentheses."""
    adapter: str
    """Adapter (docs/reference/models.md)."""
    checkpoint: FilePath | None = None
    """Local folder with weights (`*.safetensors`); alternative to `repo`."""
    repo: str | None = None
    """Repository with weights on the Hugging Face hub, `<owner>/<name>`."""
    revision: str | None = Field(None, pattern=REVISION)
    """Commit of the repository, written by `reprise pin <model>`. An `unpinned` model does not run."""
    weights_bytes: int | None = Field(None, ge=0)
    """Size of the weights in bytes. `reprise pin` writes it, and `reprise plan` uses it."""
    gpus: int = Field(0, ge=0)
    """Number of GPUs of the model's job. If one copy of the model needs fewer, further copies use the others."""
    gpus_per_copy: int | None = Field(None, ge=1)
    """GPUs of one copy of the model, a divisor of `gpus`; by default the fewest that hold the model and the largest
    clip."""
    memory_mb: int = Field(2000, ge=100)
    """Main memory of the job in MB; with `gpus_per_copy`, that of each copy."""
    threads: int = Field(1, ge=1)
    """CPU threads; on GPUs at least 8 for each copy, to prepare clips."""
    hours: float = Field(8.0, gt=0)
    """Time limit of the model's job on a cluster; a job that reaches it is resubmitted with more time and resumes."""
    partitions: int = Field(1, ge=1, le=MAX_PARTITIONS)
    """Number of jobs (partitions) into which each run is divided. If you change it, no request is repeated."""
    reference: bool = False
    """Whether the entry is for comparison only, such as humans or random guessing. It is never marked as best."""
    dtype: Literal["float32", "bfloat16", "float16", "checkpoint"] = "float32"
    """Data type of the weights. `checkpoint` uses the type in which they were saved."""
    attention: Literal["sdpa", "eager", "flash_attention_2"] = "sdpa"
    """Attention implementation."""
    trust_remote_code: bool = False
    """Whether to execute the repository's code."""
    served_by: ServerSettings | None = None
    """Server that the job starts and queries with adapter `openai`: `vllm`, or a group of settings such as those of a
    model runner."""
    settings: dict[str, Any] = Field({}, validate_default=True)
    """Settings of the adapter."""
    patterns: list[Pattern] = Field([])
    """Extraction patterns for this model, tried first by `robust` (docs/reference/extraction.md)."""
    served_until: ServedUntil | None = None
    """Date on which the vendor stops serving the model. Later commands print a warning."""
    price: Price | None = None
    """Token prices of the vendor. A model with a price runs within `budget_usd:` of the suite, a model behind an API
    without a price within `budget_tokens:`."""

    @field_validator("adapter")
    @classmethod
    def _check_adapter(cls, name: str) -> str:
        if name not in ADAPTERS:
            raise setting_error(f"unknown adapter '{name}'.{describe_choices(name, ADAPTERS)}")
        return name

    @field_validator("settings")
    @classmethod
    def _complete_settings(cls, settings: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        """Add the adapter's defaults to its settings, so that an explicit default does not change the run's key."""
        adapter, served = ADAPTERS.get(info.data.get("adapter", "")), info.data.get("served_by")
        if adapter is None or "served_by" not in info.data:  # These fields are invalid, which is reported elsewhere.
            return settings
        if served is None or not adapter.can_be_hosted:
            return adapter.settings.model_validate(settings).model_dump()
        job_settings = [
            name for name in JOB_SETTINGS + (RUNNER_ONLY_SETTINGS if served.runner else ()) if name in settings
        ]
        if job_settings:
            raise setting_error(
                f"served_by: the job that starts the server sets {', '.join(job_settings)}. Remove them here."
            )
        defaults: dict[str, Any] = {"max_images": served.max_frames} if settings.get("frames") != "video" else {}
        defaults |= {"frames": None, "frames_once": True}  # The user must choose how frames are sent.
        if served.runner is not None:
            # A runner answers one request at a time, so a request waits for the others. With one more period, the
            # runner's own limit of `answer_minutes` ends the job before the client gives up.
            seconds = 60 * served.answer_minutes * (settings.get("concurrency", RUNNER_CONCURRENCY) + 1)
            defaults = {
                "frames": "video",
                "check_frames": False,
                "concurrency": RUNNER_CONCURRENCY,
                "timeout_s": seconds,
            }
        all_settings = adapter.settings.model_validate(JOB_SERVER_DEFAULTS | defaults | settings).model_dump()
        return {name: value for name, value in all_settings.items() if name not in JOB_SETTINGS}

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        """Reject settings that contradict each other or have no effect on this model."""
        adapter, has_runner = ADAPTERS[self.adapter], self.served_by is not None and self.served_by.runner is not None
        if self.served_by is not None and not adapter.can_be_hosted:
            hosted = ", ".join(name for name, candidate in ADAPTERS.items() if candidate.can_be_hosted)
            raise setting_error(f"served_by: adapter '{self.adapter}' does not query such a server. Use: {hosted}.")
        if self.adapter == "openai" and self.settings.get("scores") == "similarity" and not has_runner:
            raise setting_error(
                "settings.scores: only a model runner supports 'similarity'. Use logprob_token_ids, or null."
            )
        if self.price is not None and not adapter.is_paid(self.settings):
            raise setting_error(
                "price: this model has no settings.key, so it costs nothing. Remove the price, or set the key."
            )
        if self.gpus_per_copy is not None and (self.gpus == 0 or self.gpus % self.gpus_per_copy):
            raise setting_error(
                f"gpus_per_copy: {self.gpus_per_copy} does not divide `gpus: {self.gpus}`. Use 1, `gpus` itself, or "
                "another divisor of it."
            )
        if self.adapter == "contrastive" and (self.gpus_per_copy or 1) > 1:
            raise setting_error("gpus_per_copy: a model of adapter 'contrastive' uses one GPU. Use 1, or remove it.")
        # Settings without an effect on this model.
        unused_settings = [
            *(["attention", "gpus_per_copy"] if self.served_by else ()),  # The server chooses them.
            *(["dtype"] if has_runner else ()),  # The model runner chooses it.
            *(["partitions"] if adapter.is_import else ()),  # No model is queried.
            *(() if self.has_weights else WEIGHT_SETTINGS),
        ]
        set_unused_settings = [name for name in unused_settings if name in self.model_fields_set]
        if set_unused_settings:
            subject = "the job's server" if self.served_by else f"adapter '{self.adapter}'"
            raise setting_error(f"{subject} does not use: {', '.join(set_unused_settings)}. Remove these settings.")
        if self.has_weights and (self.checkpoint is None) == (self.repo is None):
            raise setting_error("set either checkpoint (a local folder) or repo (a hub id), not both.")
        if self.repo is not None and self.revision is None:
            raise setting_error("revision: missing; write `unpinned` and run `reprise pin` to resolve it.")
        return self

    @property
    def has_weights(self) -> bool:
        """Return whether a job loads weights for the model, itself or in a server that it starts."""
        return ADAPTERS[self.adapter].needs_weights or self.served_by is not None

    @property
    def files(self) -> list[str]:
        """Return additional files of the weights that the model runner reads."""
        return self.served_by.runner_files if self.served_by else []

    @property
    def is_remote(self) -> bool:
        """Return whether the model runs on another machine and needs no GPU of this one."""
        return ADAPTERS[self.adapter].is_remote and self.served_by is None

    @property
    def quantised(self) -> str | None:
        """Return how the weights are quantised, or None if they are not."""
        method = self.served_by.quantised if self.served_by else self.settings.get("quantised")
        return None if method is None else str(method)


class ExternalModel(ImportSettings):
    """A model with imported responses or ratings."""

    label: Label
    """Display name."""
    reference: bool = False
    """Whether the entry is for comparison only, such as humans. It is never marked as best."""


Entry = Annotated[
    Annotated[Label, Tag("(text)")] | Annotated[ExternalModel, Tag("(group)")], Discriminator(get_entry_tag)
]


class External(StrictModel, RootModel[dict[Slug, Entry]]):
    """`config/external.yaml`: models with imported predictions, as `slug: label` or `slug: {label: ..., ...}`."""

    def models(self) -> dict[str, Model]:
        """Return slug -> settings of the model as in a model's file."""
        external_models = {
            slug: ExternalModel(label=entry) if isinstance(entry, str) else entry for slug, entry in self.root.items()
        }
        return {
            slug: Model(
                label=external_model.label,
                adapter="import",
                reference=external_model.reference,
                settings=external_model.model_dump(include=set(ImportSettings.model_fields)),
            )
            for slug, external_model in external_models.items()
        }
