"""Make torchvision importable where pip has installed a build for CUDA beside a torch for CPUs.

Its operators cannot be loaded there, and `import torchvision` fails because it registers fake versions of undeclared
operators. Declaring them is enough for code that calls none of them, such as the processors of transformers.

`make setup` copies this module into `.venv` and has every Python there call `declare_when_imported`, so it must import
nothing from this library and nothing slow. In environments that were set up otherwise, each job calls it.
"""

import sys

# The first of its own modules that torchvision imports.
TRIGGER_MODULE = "torchvision.extension"
# The declarations are valid as long as the library object exists.
_declared: list[object] = []


class _BeforeTorchvision:
    """An import hook that declares the operators when torchvision is imported; it finds no module itself."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == TRIGGER_MODULE and not _declared:
            _declare()


def declare_when_imported() -> None:
    """Install the import hook once per process, even if the copy in the environment has already done so."""
    if not any(getattr(finder, "__name__", "") == _BeforeTorchvision.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _BeforeTorchvision)


def _declare() -> None:
    from importlib import metadata

    import torch

    if torch.version.cuda is None and "+cpu" not in metadata.version("torchvision"):
        library = torch.library.Library("torchvision", "FRAGMENT")
        library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _declared.append(library)
