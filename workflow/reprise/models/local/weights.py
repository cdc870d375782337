"""Find the weights of a model and read their properties and quantisation.

Weights are in a local checkpoint, or in a hub snapshot that is fetched once into the store. The names, types and sizes
of tensors come from the file headers, without reading the tensors.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from safetensors import SafetensorError, safe_open

from reprise.core.errors import UserError
from reprise.core.files import read_record, value_digest, write_record
from reprise.core.store import Store

# Files of a snapshot other than weights. Code is fetched only for a model that may run it.
CONFIG_PATTERNS = ("*.json", "*.model", "*.txt", "*.jinja", "*.tiktoken")
DAMAGED = "damaged or truncated"
WEIGHT_PATTERN, CODE_PATTERN = "*.safetensors", "*.py"
INDEX_FILE, SINGLE_FILE = "model.safetensors.index.json", "model.safetensors"
# File that identifies a LoRA adapter or a similar one.
ADAPTER_CONFIG = "adapter_config.json"
# Suffixes of files with weights, and beginnings of the names of training states, which are ignored.
WEIGHT_SUFFIXES = frozenset(
    {".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".msgpack", ".h5", ".onnx", ".npz"}
)
TRAINING_STATE_PREFIXES = ("optimizer", "scheduler", "scaler", "training_args", "rng_state")

# Methods by which weights are quantised when they are loaded, and methods of checkpoints that are quantised already.
LoadTimeQuantisation = Literal["int8", "nf4"]
CheckpointQuantisation = Literal[
    "awq", "bitsandbytes", "compressed-tensors", "fp8", "gptq", "hqq", "mxfp4", "quanto", "torchao"
]
Quantisation = LoadTimeQuantisation | CheckpointQuantisation

LOAD_TIME_METHODS: tuple[str, ...] = get_args(LoadTimeQuantisation)
CHECKPOINT_METHODS: tuple[str, ...] = get_args(CheckpointQuantisation)
# Quantisation method -> the distributions that compute with such weights.
QUANTISATION_PACKAGES: dict[str, tuple[str, ...]] = {
    "int8": ("bitsandbytes",),
    "nf4": ("bitsandbytes",),
    "bitsandbytes": ("bitsandbytes",),
    "awq": ("gptqmodel",),
    "gptq": ("optimum", "gptqmodel"),
    "compressed-tensors": ("compressed-tensors",),
    "hqq": ("hqq",),
    "mxfp4": ("kernels",),
    "quanto": ("optimum-quanto",),
    "torchao": ("torchao",),
}


# --- location ------------------------------------------------------------------------------------------------------


def get_file_patterns(trust_remote_code: bool, extra_patterns: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the patterns of the files to fetch from a model's repository; its model runner adds `extra_patterns`."""
    return (*CONFIG_PATTERNS, WEIGHT_PATTERN, *extra_patterns, *([CODE_PATTERN] if trust_remote_code else []))


def get_snapshot_folder(repo: str, revision: str, store: Store) -> Path:
    """Return the folder in the store for a revision of a hub repository."""
    return store.root / "weights" / value_digest([repo, revision])[:16]


def resolve_weights_folder(checkpoint_folder: str | None, identity: Mapping[str, str], store: Store) -> Path | None:
    """Verify a model's weights and return their folder; None for a model without weights.

    `identity` has the digest of a `checkpoint`, or `repo` and `revision`; it is empty for a model without weights.
    """
    if checkpoint_folder is not None:
        if "checkpoint" in identity and store.folder_digest(Path(checkpoint_folder)) != identity["checkpoint"]:
            raise UserError(
                f"{checkpoint_folder}: changed since this job was planned. Nothing was recorded. Run the same command "
                "again to use the changed checkpoint."
            )
        return Path(checkpoint_folder)
    if "repo" not in identity:
        return None
    folder = get_snapshot_folder(identity["repo"], identity["revision"], store)
    if not list_fetched_files(folder) and not any(folder.glob(WEIGHT_PATTERN)):
        raise UserError(f"{identity['repo']}: no weights in {folder}. Run snakemake, whose weights rule fetches them.")
    fetched = list_fetched_files(folder)
    digests = store.digests(path for path in fetched if path.is_file())
    for path, digest in fetched.items():
        if digests.get(path) != digest:
            path.unlink(missing_ok=True)
            raise UserError(
                f"{path}: missing, or changed since it was fetched. Nothing was recorded. Run the same command again "
                "to fetch it again."
            )
    return folder


def record_file_digests(folder: Path, store: Store, extra_patterns: Sequence[str] = ()) -> None:
    """Record the digests of a fetched snapshot's files, for later verification."""
    files = sorted({path for pattern in get_file_patterns(True, extra_patterns) for path in folder.glob(pattern)})
    digests = store.digests(files)
    write_record(folder.with_suffix(".json"), {path.name: digest for path, digest in digests.items()})


def list_fetched_files(folder: Path) -> dict[Path, str]:
    """Return the recorded digest of each file of a snapshot; empty if an earlier version of Reprise fetched it."""
    record = read_record(folder.with_suffix(".json")) or {}
    return {folder / name: digest for name, digest in record.items()}


# --- content --------------------------------------------------------------------------------------------------------


class TensorInfo(NamedTuple):
    """A tensor in a weight file; `dtype` is the number format as the file names it, such as `BF16`."""

    dtype: str
    shape: tuple[int, ...]
    size_bytes: int


def read_tensors(folder: Path) -> dict[str, TensorInfo]:
    """Return all weights of a checkpoint by name; raise a UserError if a file is missing or truncated."""
    tensors = {}
    for path in list_weight_files(folder):
        try:
            with safe_open(path, "numpy") as file:
                for name in file.keys():  # noqa: SIM118  not a mapping
                    tensor = file.get_slice(name)
                    dtype, shape = tensor.get_dtype(), tuple(tensor.get_shape())
                    digits = re.search(r"\d+", dtype)
                    bits_per_value = int(digits[0]) if digits else 8  # F8_E4M3 has 8 bits, and so has BOOL
                    tensors[name] = TensorInfo(dtype, shape, math.prod(shape) * bits_per_value // 8)
        except SafetensorError as error:
            raise _create_damage_error(path, str(error)) from error
    return tensors


def list_weight_files(folder: Path) -> list[Path]:
    """Return the weight files of a checkpoint: those of its index, else `model.safetensors`, else all."""
    if (folder / INDEX_FILE).is_file():
        weight_map = _read_json(folder / INDEX_FILE).get("weight_map")
        if not isinstance(weight_map, dict):
            raise _create_damage_error(folder / INDEX_FILE, "it has no weight_map")
        names = sorted(set(map(str, weight_map.values())))
        missing = [name for name in names if Path(name).name != name or not (folder / name).is_file()]
        if missing:
            raise UserError(
                f"{folder / INDEX_FILE}: {len(missing)} of the {len(names)} files that it names are missing: "
                f"{', '.join(missing[:3])}. Fetch the checkpoint again."
            )
        return [folder / name for name in names]
    return [folder / SINGLE_FILE] if (folder / SINGLE_FILE).is_file() else sorted(folder.glob(WEIGHT_PATTERN))


def check_no_adapter(folder: Path) -> None:
    """Raise a UserError if a checkpoint contains an adapter, such as LoRA, of another model."""
    if (folder / ADAPTER_CONFIG).is_file():
        raise UserError(
            f"{folder / ADAPTER_CONFIG}: LoRA adapters are not supported; the model would answer without it. Merge it "
            "into its base model (peft: `PeftModel.from_pretrained(base, folder).merge_and_unload()`), save the result "
            "with `save_pretrained` in a folder with the processor's files, and use that folder."
        )


def find_unused_files(folder: Path, *, trust_remote_code: bool) -> list[str]:
    """Return the files of a checkpoint that are not loaded although they could affect the model."""
    weight_paths = set(list_weight_files(folder))
    unused_weight_paths = [
        path
        for path in folder.rglob("*")
        if path.suffix in WEIGHT_SUFFIXES
        and not path.name.startswith(TRAINING_STATE_PREFIXES)
        and path not in weight_paths
    ]
    has_unused_code = "auto_map" in read_config(folder) and not trust_remote_code
    unused_code_paths = folder.glob("*.py") if has_unused_code else []
    return sorted(str(path.relative_to(folder)) for path in [*unused_weight_paths, *unused_code_paths])


def read_config(folder: Path) -> dict[str, Any]:
    """Return a checkpoint's `config.json`; empty if it has none."""
    path = folder / "config.json"
    return _read_json(path) if path.is_file() else {}


def read_text_config(folder: Path) -> dict[str, Any]:
    """Return the part of a checkpoint's `config.json` that describes its language model."""
    config = read_config(folder)
    # In Qwen-Omni models, `thinker_config` contains the `text_config`, so `text_config` is tried again at the end.
    for name in ("text_config", "llm_config", "thinker_config", "text_config"):
        config = config[name] if isinstance(config.get(name), dict) else config
    return config


def read_vision_config(folder: Path) -> dict[str, Any]:
    """Return the part of a checkpoint's `config.json` that describes its vision tower; empty if it has none."""
    config = read_config(folder)
    for part in (config, config.get("thinker_config")):
        if isinstance(part, dict) and isinstance(part.get("vision_config"), dict):
            return dict(part["vision_config"])
    return {}


def _get_config_value(folder: Path, *names: str) -> Any:
    """Return the first non-empty value of these names in the configuration of a checkpoint or its language model."""
    parts = (read_config(folder), read_text_config(folder))
    return next((part[name] for part in parts for name in names if part.get(name)), None)


def read_checkpoint_dtype(folder: Path) -> str | None:
    """Return the number format that a checkpoint's configuration names; None if it names none."""
    dtype = _get_config_value(folder, "dtype", "torch_dtype")
    return str(dtype).removeprefix("torch.") if dtype else None


def check_quantisation(quantised: str | None, folder: Path) -> None:
    """Raise a UserError unless a model's file names the quantisation of its checkpoint's weights."""
    quantisation = _get_config_value(folder, "quantization_config")
    method = quantisation and str(quantisation.get("quant_method", "bitsandbytes"))
    if method and quantised != method:
        raise UserError(
            f"{folder}: the weights of this checkpoint are quantised by {method}. Set `settings.quantised: {method}` "
            f"in the model's file, so that tables report it. Supported methods: {', '.join(CHECKPOINT_METHODS)}."
        )
    if not method and quantised is not None and quantised not in LOAD_TIME_METHODS:
        raise UserError(
            f"{folder}: the model's file has `settings.quantised: {quantised}`, but the checkpoint's config.json has "
            f"no quantization_config. Remove it, or quantise on loading: {', '.join(LOAD_TIME_METHODS)}."
        )


def check_quantisation_packages(quantised: str | None, folder: Path) -> None:
    """Raise a UserError if packages for weights with this quantisation are missing."""
    missing = [name for name in QUANTISATION_PACKAGES.get(quantised or "", ()) if not any(distributions(name=name))]
    if missing:
        raise UserError(
            f"{folder}: `settings.quantised: {quantised}` needs {' and '.join(missing)}, which is not installed. "
            f"Run: pip install {' '.join(missing)}"
        )


def _create_damage_error(path: Path, reason: str) -> UserError:
    """Return the error for a damaged file of a checkpoint."""
    return UserError(f"{path}: {DAMAGED}: {reason}. No request was sent. Fetch the checkpoint again.")


def _read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file of a checkpoint."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _create_damage_error(path, f"not JSON: {error}") from error
    if not isinstance(content, dict):
        raise _create_damage_error(path, "not a JSON object")
    return content
