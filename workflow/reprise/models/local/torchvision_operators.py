"""Make torchvision importable if pip has installed its build for CUDA beside a torch for CPUs.

In this case, torchvision's operators cannot be loaded, and `import torchvision` fails because it registers fake
versions of undeclared operators. It is sufficient to declare the operators, because the processors of transformers call
none of them.

`make setup` copies this module into `.venv`, where every start of Python calls `declare_when_imported`. The module must
therefore import nothing from this library and nothing slow. In other environments, each job calls the function.
"""

import sys

# The first of torchvision's modules that `import torchvision` imports.
TRIGGER_MODULE = "torchvision.extension"
# References to the library objects, because their declarations are valid only as long as the objects exist.
_declared: list[object] = []


class _BeforeTorchvision:
    """An import hook that declares the operators when torchvision is imported, and leaves the import to others."""

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
