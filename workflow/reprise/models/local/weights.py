"""A model's weights: where they are, a local checkpoint or a hub snapshot that is fetched once into the store; what
they are, names, types and sizes from the headers of their files, and no number; how they are quantised."""

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

# What a snapshot holds besides weights; code only for a model that may run it.
SMALL = ("*.json", "*.model", "*.txt", "*.jinja", "*.tiktoken")
WEIGHTS, CODE = "*.safetensors", "*.py"
INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
# A LoRA and its kin; and endings of files that hold numbers, but for those that a training leaves to go on from.
ADAPTER = "adapter_config.json"
NUMBERS = frozenset({".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".msgpack", ".h5", ".onnx", ".npz"})
OF_TRAINING = ("optimizer", "scheduler", "scaler", "training_args", "rng_state")

OnLoading = Literal["int8", "nf4"]
InCheckpoint = Literal["awq", "bitsandbytes", "compressed-tensors", "fp8", "gptq", "hqq", "mxfp4", "quanto", "torchao"]
Quantised = OnLoading | InCheckpoint

ON_LOADING: tuple[str, ...] = get_args(OnLoading)
IN_CHECKPOINT: tuple[str, ...] = get_args(InCheckpoint)
# Quantised how -> the distributions that compute with such weights.
NEEDED: dict[str, tuple[str, ...]] = {
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


# --- where they are -------------------------------------------------------------------------------------------------


def patterns_of(trust_remote_code: bool, further: Sequence[str] = ()) -> tuple[str, ...]:
    """The files of a repository that a model is loaded from; further ones are its program's."""
    return (*SMALL, WEIGHTS, *further, *([CODE] if trust_remote_code else []))


def snapshot_folder(repo: str, revision: str, store: Store) -> Path:
    return store.root / "weights" / value_digest([repo, revision])[:16]


def weights_folder(checkpoint: str | None, model: Mapping[str, str], store: Store) -> Path | None:
    """Return the folder that a run's model loads from, after a check of its content; none for one without weights."""
    if checkpoint is not None:
        if "checkpoint" in model and store.folder_digest(Path(checkpoint)) != model["checkpoint"]:
            raise UserError(
                f"{checkpoint}: changed since this job was planned. Nothing was recorded: run the same command again, "
                "which takes the checkpoint as it is then."
            )
        return Path(checkpoint)
    if "repo" not in model:
        return None
    folder = snapshot_folder(model["repo"], model["revision"], store)
    if not fetched_files(folder) and not any(folder.glob(WEIGHTS)):
        raise UserError(f"{model['repo']}: no weights in {folder}. Run snakemake, whose weights rule fetches them.")
    fetched = fetched_files(folder)
    found = store.digests(path for path in fetched if path.is_file())
    for path, digest in fetched.items():
        if found.get(path) != digest:
            path.unlink(missing_ok=True)
            raise UserError(
                f"{path}: gone, or not what was fetched. Nothing was recorded: run the same command again, which "
                "fetches it again."
            )
    return folder


def record_files(folder: Path, store: Store, further: Sequence[str] = ()) -> None:
    files = sorted({path for pattern in patterns_of(True, further) for path in folder.glob(pattern)})
    found = store.digests(files)
    write_record(folder.with_suffix(".json"), {path.name: digest for path, digest in found.items()})


def fetched_files(folder: Path) -> dict[Path, str]:
    """The files of a snapshot and their digests; none where an earlier version fetched it."""
    found = read_record(folder.with_suffix(".json")) or {}
    return {folder / name: digest for name, digest in found.items()}


# --- what they are --------------------------------------------------------------------------------------------------


class Tensor(NamedTuple):
    """One array of weights as it is stored; its type by the format's name, such as `BF16`."""

    dtype: str
    shape: tuple[int, ...]
    bytes: int


def tensors_of(folder: Path) -> dict[str, Tensor]:
    """All weights of a checkpoint by name; a UserError where a file is missing or cut short."""
    found = {}
    for path in weight_files(folder):
        try:
            with safe_open(path, "numpy") as file:
                for name in file.keys():  # noqa: SIM118  no mapping
                    part = file.get_slice(name)
                    dtype, shape = part.get_dtype(), tuple(part.get_shape())
                    bits = re.search(r"\d+", dtype)  # of F8_E4M3 8; a BOOL takes a byte
                    found[name] = Tensor(dtype, shape, math.prod(shape) * (int(bits[0]) if bits else 8) // 8)
        except SafetensorError as error:
            raise _damaged(path, str(error)) from error
    return found


def weight_files(folder: Path) -> list[Path]:
    """The files that a checkpoint is loaded from: those of its index, else `model.safetensors`, else all there are."""
    if (folder / INDEX).is_file():
        weight_map = _json(folder / INDEX).get("weight_map")
        if not isinstance(weight_map, dict):
            raise _damaged(folder / INDEX, "it has no weight_map")
        names = sorted(set(map(str, weight_map.values())))
        missing = [name for name in names if Path(name).name != name or not (folder / name).is_file()]
        if missing:
            raise UserError(
                f"{folder / INDEX}: {len(missing)} of the {len(names)} files that it names are not there: "
                f"{', '.join(missing[:3])}. Fetch the checkpoint again."
            )
        return [folder / name for name in names]
    return [folder / SINGLE] if (folder / SINGLE).is_file() else sorted(folder.glob(WEIGHTS))


def check_no_adapter(folder: Path) -> None:
    """A UserError where a checkpoint is a change of another one, or has one beside it."""
    if (folder / ADAPTER).is_file():
        raise UserError(
            f"{folder / ADAPTER}: a LoRA adapter, which is not applied here: the model would answer without it. Merge "
            "it into its base model (peft: `PeftModel.from_pretrained(base, folder).merge_and_unload()`), save that "
            "with `save_pretrained` beside the files of its processor, and name that folder."
        )


def unread_files(folder: Path, *, runs_code: bool) -> list[str]:
    """Files of a checkpoint that could change the model and are not read."""
    read = set(weight_files(folder))
    numbers = [
        path
        for path in folder.rglob("*")
        if path.suffix in NUMBERS and not path.name.startswith(OF_TRAINING) and path not in read
    ]
    has_code = "auto_map" in configuration(folder) and not runs_code
    return sorted(str(path.relative_to(folder)) for path in [*numbers, *(folder.glob("*.py") if has_code else [])])


def configuration(folder: Path) -> dict[str, Any]:
    """A checkpoint's `config.json`; empty where it has none."""
    path = folder / "config.json"
    return _json(path) if path.is_file() else {}


def text_configuration(folder: Path) -> dict[str, Any]:
    """Of a checkpoint's `config.json` what is about its language model."""
    found = configuration(folder)
    for name in ("text_config", "llm_config", "thinker_config", "text_config"):
        found = found[name] if isinstance(found.get(name), dict) else found
    return found


def vision_configuration(folder: Path) -> dict[str, Any]:
    """Of a checkpoint's `config.json` what is about its vision tower; empty where it has none."""
    whole = configuration(folder)
    for part in (whole, whole.get("thinker_config")):
        if isinstance(part, dict) and isinstance(part.get("vision_config"), dict):
            return dict(part["vision_config"])
    return {}


def _stated(folder: Path, *names: str) -> Any:
    """What a checkpoint's configuration says by one of these names, of the whole or of its language model."""
    parts = (configuration(folder), text_configuration(folder))
    return next((part[name] for part in parts for name in names if part.get(name)), None)


def own_dtype(folder: Path) -> str | None:
    """The type of numbers that a checkpoint's configuration names; None if it names none."""
    named = _stated(folder, "dtype", "torch_dtype")
    return str(named).removeprefix("torch.") if named else None


def check_named(quantised: str | None, folder: Path) -> None:
    """A UserError unless a model's file says of its checkpoint's weights what they are."""
    stated = _stated(folder, "quantization_config")
    found = stated and str(stated.get("quant_method", "bitsandbytes"))
    if found and quantised != found:
        raise UserError(
            f"{folder}: the weights of this checkpoint are quantised by {found}. Write `quantised: {found}` below "
            "`settings:` in the model's file, so that tables say so of its rows. Weights that can be loaded are "
            f"quantised by {', '.join(IN_CHECKPOINT)}."
        )
    if not found and quantised is not None and quantised not in ON_LOADING:
        raise UserError(
            f"{folder}: `settings.quantised: {quantised}` is in the model's file, and the checkpoint's config.json has "
            f"no quantization_config. Remove it, or quantise on loading: {', '.join(ON_LOADING)}."
        )


def check_installed(quantised: str | None, folder: Path) -> None:
    """A UserError that names the packages which weights need that are quantised so."""
    missing = [name for name in NEEDED.get(quantised or "", ()) if not any(distributions(name=name))]
    if missing:
        raise UserError(
            f"{folder}: `settings.quantised: {quantised}` needs {' and '.join(missing)}, not installed here. "
            f"Run: pip install {' '.join(missing)}"
        )


def _damaged(path: Path, what: str) -> UserError:
    return UserError(f"{path}: damaged or cut short: {what}. Nothing was asked. Fetch the checkpoint again.")


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _damaged(path, f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise _damaged(path, "not a group of keys")
    return found
