"""How weights are quantised: on loading, or as the checkpoint has them. Imports no torch."""

from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from reprise.core.errors import UserError
from reprise.models.local.weight_files import quantised_by

OnLoading = Literal["int8", "nf4"]
InCheckpoint = Literal["awq", "bitsandbytes", "compressed-tensors", "fp8", "gptq", "hqq", "mxfp4", "quanto", "torchao"]
Quantised = OnLoading | InCheckpoint

ON_LOADING: tuple[str, ...] = get_args(OnLoading)
IN_CHECKPOINT: tuple[str, ...] = get_args(InCheckpoint)
# Of a matrix that is quantised on loading, the bytes of a number: nf4 keeps a float32 for every 64 of them.
BYTES = {"int8": 1.0, "nf4": 0.5 + 4 / 64}


class Package(NamedTuple):
    """What computes with quantised weights: its distribution, and the module that it installs."""

    distribution: str
    module: str


BITSANDBYTES = Package("bitsandbytes", "bitsandbytes")
NEEDED: dict[str, tuple[Package, ...]] = {
    "int8": (BITSANDBYTES,),
    "nf4": (BITSANDBYTES,),
    "bitsandbytes": (BITSANDBYTES,),
    "awq": (Package("gptqmodel", "gptqmodel"),),
    "gptq": (Package("optimum", "optimum"), Package("gptqmodel", "gptqmodel")),
    "compressed-tensors": (Package("compressed-tensors", "compressed_tensors"),),
    "hqq": (Package("hqq", "hqq"),),
    "mxfp4": (Package("kernels", "kernels"),),
    "quanto": (Package("optimum-quanto", "optimum.quanto"),),
    "torchao": (Package("torchao", "torchao"),),
}


def packages_of(quantised: str | None) -> tuple[str, ...]:
    """Distributions whose versions shape the answers of a model that is quantised so."""
    return tuple(one.distribution for one in NEEDED.get(quantised or "", ()))


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
    missing = [one.distribution for one in NEEDED.get(quantised or "", ()) if not _is_installed(one.module)]
    if missing:
        raise UserError(
            f"{folder}: `settings.quantised: {quantised}` needs {' and '.join(missing)}, not installed here. "
            f"Run: pip install {' '.join(missing)}"
        )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it is a part of
        return False
