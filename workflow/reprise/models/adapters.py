"""Register all adapters by import string, without importing any model library."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from reprise.core.settings import Settings
from reprise.models.local.weights import QUANTISATION_PACKAGES
from reprise.models.remote.settings import ANSWER_NEUTRAL_SETTINGS, AnthropicSettings, GeminiSettings
from reprise.models.settings import (
    ConstantSettings,
    ImportSettings,
    NoSettings,
    OpenAISettings,
    RandomSettings,
    TemplatesSettings,
    TextSettings,
    TransformersSettings,
    WordMatchSettings,
)


@dataclass(frozen=True)
class AdapterInfo:
    """The properties of an adapter that the workflow needs before it imports the adapter's code."""

    import_string: str
    """`module:class`, imported only by the job that runs it; empty if predictions are imported from files"""
    settings: type[Settings] = NoSettings
    needs_weights: bool = False
    is_remote: bool = False
    can_be_hosted: bool = False
    """whether the job can start a server for the adapter to query (`served_by:`)"""
    packages: tuple[str, ...] = ()
    """distributions whose versions affect the answers of every model (docs/reference/response-cache.md)"""
    request_types: tuple[str, ...] = ("score", "choose", "write")
    """request types that it supports"""
    is_import: bool = False
    """whether predictions are imported from files"""
    request_type_overrides: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """value of the setting that `override_setting` names -> supported request types, instead of `request_types`"""
    override_setting: str = "head"
    """name of the setting that selects an entry of `request_type_overrides`"""
    answer_neutral_settings: frozenset[str] = frozenset()
    """settings that do not affect answers and are not part of the response cache's key"""
    preparer: str = ""
    """`module:class` that prepares clips in worker processes; empty if the adapter reads them itself"""
    sizer: str = ""
    """`module:function` that returns the size of a run's largest clip as model input; empty if clips are small"""
    version: int = 1
    """raised when the same settings give different answers; part of the response cache's key"""
    needs_labels: bool = False
    """whether requests contain the expected option, which only baselines need"""
    frame_support: Literal["optional", "required", "never"] = "optional"
    """whether a run may (`optional`), must (`required`) or must not (`never`) send frames"""

    def get_request_types(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the request types that a model with these settings supports."""
        return self.request_type_overrides.get(str(settings.get(self.override_setting)), self.request_types)

    def is_paid(self, settings: Mapping[str, Any]) -> bool:
        """Return whether a model with these settings charges for its answers, as is assumed if it needs an API key."""
        return self.is_remote and settings.get("key") is not None

    def should_upload_clips(self, settings: Mapping[str, Any]) -> bool:
        """Return whether whole clips are uploaded to a server, so that frames cannot be changed for an ablation."""
        return self.settings is GeminiSettings and settings.get("frames") == "video"

    def get_versioned_packages(self, settings: Mapping[str, Any], attention: str = "sdpa") -> tuple[str, ...]:
        """Return the distributions whose versions affect the answers of a model with these settings."""
        kernels = ATTENTION_PACKAGES.get(attention, ()) if self.needs_weights else ()
        return (*self.packages, *QUANTISATION_PACKAGES.get(str(settings.get("quantised")), ()), *kernels)

    @property
    def module(self) -> str:
        return self.import_string.partition(":")[0]


# Attention implementation -> the distributions that it needs besides torch.
ATTENTION_PACKAGES = {"flash_attention_2": ("flash-attn", "kernels")}
# Name of a setting of the model's file.
OPTION_SHARE = "option_share"
# Name of a request type, and of the value of the setting `scores` that selects it.
SIMILARITY = "similarity"
ALL_REQUEST_TYPES = ("score", "choose", "write", "similarity")

ADAPTERS: dict[str, AdapterInfo] = {
    "transformers": AdapterInfo(
        "reprise.models.local.transformers:TransformersAdapter",
        settings=TransformersSettings,
        answer_neutral_settings=frozenset({OPTION_SHARE}),
        preparer="reprise.models.local.clip_preparer:ClipPreparer",
        sizer="reprise.models.local.clip_size:compute_largest_clip_size",
        needs_weights=True,
        packages=("torch", "torchvision", "transformers", "tokenizers", "pillow", "av"),
    ),
    "contrastive": AdapterInfo(
        "reprise.models.local.contrastive:ContrastiveAdapter",
        preparer="reprise.models.local.frames_preparer:FramesPreparer",
        needs_weights=True,
        packages=("torch", "transformers", "tokenizers", "pillow", "av"),
        request_types=("similarity",),
        frame_support="required",
    ),
    "text": AdapterInfo(
        "reprise.models.local.text:TextAdapter",
        needs_weights=True,
        packages=("torch", "transformers", "tokenizers"),
        settings=TextSettings,
        answer_neutral_settings=frozenset({OPTION_SHARE}),
        request_type_overrides={"vera": ("similarity",)},
        frame_support="never",
    ),
    "openai": AdapterInfo(
        "reprise.models.remote.openai:OpenAIAdapter",
        OpenAISettings,
        is_remote=True,
        can_be_hosted=True,
        packages=("av", "pillow"),
        request_types=("choose", "write"),
        request_type_overrides={"logprob_token_ids": ("score", "choose", "write"), SIMILARITY: (SIMILARITY,)},
        override_setting="scores",
        answer_neutral_settings=ANSWER_NEUTRAL_SETTINGS | {"check_frames", "frames_once", OPTION_SHARE},
    ),
    "anthropic": AdapterInfo(
        "reprise.models.remote.anthropic:AnthropicAdapter",
        AnthropicSettings,
        is_remote=True,
        packages=("av", "pillow"),
        request_types=("choose", "write"),
        answer_neutral_settings=ANSWER_NEUTRAL_SETTINGS,
    ),
    "gemini": AdapterInfo(
        "reprise.models.remote.gemini:GeminiAdapter",
        GeminiSettings,
        is_remote=True,
        packages=("av", "pillow"),
        request_types=("choose", "write"),
        answer_neutral_settings=ANSWER_NEUTRAL_SETTINGS | {"upload_s"},
    ),
    "wordmatch": AdapterInfo(
        "reprise.models.local.baselines.wordmatch:WordMatch", WordMatchSettings, request_types=("write",)
    ),
    "templates": AdapterInfo(
        "reprise.models.local.baselines.templates:TemplateCaptioner", TemplatesSettings, request_types=("write",)
    ),
    "import": AdapterInfo("", ImportSettings, is_import=True),
    "lastletter": AdapterInfo("reprise.models.local.baselines.lastletter:LastLetter", request_types=("write",)),
    "oracle": AdapterInfo(
        "reprise.models.local.baselines.simple:OracleBaseline", request_types=ALL_REQUEST_TYPES, needs_labels=True
    ),
    "constant": AdapterInfo(
        "reprise.models.local.baselines.simple:ConstantBaseline", ConstantSettings, request_types=ALL_REQUEST_TYPES
    ),
    "random": AdapterInfo(
        "reprise.models.local.baselines.simple:RandomBaseline",
        RandomSettings,
        request_types=ALL_REQUEST_TYPES,
        needs_labels=True,
    ),
}


def import_object(import_string: str) -> Any:
    """Import the object that an import string (`module:attribute`) names."""
    module, _, attribute = import_string.partition(":")
    return getattr(import_module(module), attribute)
