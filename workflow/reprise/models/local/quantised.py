"""How weights are quantised: on loading, or as the checkpoint has them. Imports no torch."""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, get_args

from reprise.core.errors import UserError
from reprise.models.local.weight_files import quantised_by

OnLoading = Literal["int8", "nf4"]
InCheckpoint = Literal["awq", "bitsandbytes", "compressed-tensors", "fp8", "gptq", "hqq", "mxfp4", "quanto", "torchao"]
Quantised = OnLoading | InCheckpoint

ON_LOADING: tuple[str, ...] = get_args(OnLoading)
IN_CHECKPOINT: tuple[str, ...] = get_args(InCheckpoint)
# Of a matrix that is quantised on loading, the bytes of a number: nf4 keeps a float32 for every 64 of them.
BYTES = {"int8": 1.0, "nf4": 0.5 + 4 / 64}


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


def check_named(quantised: str | None, folder: Path) -> None:
    """A UserError unless a model's file says of its checkpoint's weights what they are."""
    found = quantised_by(folder)
    if found is not None and found not in IN_CHECKPOINT:
        raise UserError(
            f"{folder}: the weights of this checkpoint are quantised by {found}. Those that can be loaded are "
            f"quantised by {', '.join(IN_CHECKPOINT)}."
        )
    if found is not None and quantised != found:
        raise UserError(
            f"{folder}: the weights of this checkpoint are quantised by {found}. Write `quantised: {found}` below "
            "`settings:` in the model's file: tables then say so of its rows."
        )
    if found is None and quantised is not None and quantised not in ON_LOADING:
        raise UserError(
            f"{folder}: `settings.quantised: {quantised}` is in the model's file, and the checkpoint's config.json has "
            f"no quantization_config. Remove it, or quantise on loading: {', '.join(ON_LOADING)}."
        )


def check_installed(quantised: str | None, folder: Path) -> None:
    """A UserError that names the packages which weights need that are quantised so."""
    missing = []
    for distribution in NEEDED.get(quantised or "", ()):
        try:
            version(distribution)
        except PackageNotFoundError:
            missing.append(distribution)
    if missing:
        raise UserError(
            f"{folder}: `settings.quantised: {quantised}` needs {' and '.join(missing)}, not installed here. "
            f"Run: pip install {' '.join(missing)}"
        )
