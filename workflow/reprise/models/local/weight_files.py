"""What the weights of a checkpoint are, read from the headers of its files: names, types and sizes, no number."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.errors import UserError

INDEX, SINGLE, ANY = "model.safetensors.index.json", "model.safetensors", "*.safetensors"
# A LoRA and its kin; and endings of files that hold numbers, but for those that a training leaves to go on from.
ADAPTER = "adapter_config.json"
NUMBERS = frozenset({".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".msgpack", ".h5", ".onnx", ".npz"})
OF_TRAINING = ("optimizer", "scheduler", "scaler", "training_args", "rng_state")
LENGTH_BYTES = 8  # of the number at the start of a file, which says how long its header is
MOST_HEADER_BYTES = 100_000_000  # what the format allows


class Tensor(NamedTuple):
    """One array of weights as it is stored; its type by the format's name, such as `BF16`."""

    dtype: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def numbers(self) -> int:
        return math.prod(self.shape)


def tensors_of(folder: Path) -> dict[str, Tensor]:
    """All weights of a checkpoint by name; a UserError where a file is missing or cut short."""
    return {name: tensor for path in weight_files(folder) for name, tensor in _header(path)}


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
    return [folder / SINGLE] if (folder / SINGLE).is_file() else sorted(folder.glob(ANY))


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
        for path in folder.iterdir()
        if path.suffix in NUMBERS and not path.name.startswith(OF_TRAINING) and path not in read
    ]
    has_code = "auto_map" in configuration(folder) and not runs_code
    return sorted(path.name for path in [*numbers, *(folder.glob("*.py") if has_code else [])])


def configuration(folder: Path) -> dict[str, Any]:
    """A checkpoint's `config.json`; empty where it has none."""
    path = folder / "config.json"
    return _json(path) if path.is_file() else {}


def text_configuration(folder: Path) -> dict[str, Any]:
    """Of a checkpoint's `config.json` what is about its language model."""
    found = configuration(folder)
    named = [
        found[name] for name in ("text_config", "llm_config", "thinker_config") if isinstance(found.get(name), dict)
    ]
    text: dict[str, Any] = named[0] if named else found
    return text.get("text_config", text) if isinstance(text.get("text_config"), dict) else text


def own_dtype(folder: Path) -> str | None:
    """The type of numbers that a checkpoint's configuration names; None if it names none."""
    for part in (configuration(folder), text_configuration(folder)):
        named = part.get("dtype") or part.get("torch_dtype")
        if named:
            return str(named).removeprefix("torch.")
    return None


def quantised_by(folder: Path) -> str | None:
    """The method by which a checkpoint's weights are quantised; None if they are not."""
    for part in (configuration(folder), text_configuration(folder)):
        if found := part.get("quantization_config"):
            if not isinstance(found, dict):
                raise _damaged(folder / "config.json", "its quantization_config is not a group of keys")
            return str(found.get("quant_method", "bitsandbytes"))
    return None


def _header(path: Path) -> Iterator[tuple[str, Tensor]]:
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(LENGTH_BYTES), "little")
        text = stream.read(length) if length <= MOST_HEADER_BYTES else b""
    if not 0 < length == len(text):
        raise _damaged(path, "its header is not whole")
    try:
        header = {name: one for name, one in json.loads(text).items() if name != "__metadata__"}
        found = [(name, one["dtype"], tuple(one["shape"]), *one["data_offsets"]) for name, one in header.items()]
        end = LENGTH_BYTES + length + max((last for *_, last in found), default=0)
    except (ValueError, AttributeError, LookupError, TypeError) as error:
        raise _damaged(path, "its header is damaged") from error
    if path.stat().st_size != end:
        raise _damaged(path, f"{path.stat().st_size} bytes, {end} are named in its header")
    for name, dtype, shape, first, last in found:
        yield name, Tensor(dtype, shape, last - first)


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
