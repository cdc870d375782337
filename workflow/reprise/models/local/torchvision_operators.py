"""Lets torchvision be imported where pip has taken one for CUDA beside a torch for processors.

Its operators cannot be loaded there, and `import torchvision` fails, because it registers fake versions of operators
that nothing declares. To declare them is enough for all that uses none, such as the processors of transformers.

`make setup` copies this module into `.venv` and has every Python there call `declare_when_imported`, so that it imports
nothing of this library and nothing that takes time. An environment that was made otherwise calls it in each job.
"""

import sys

# The first module that torchvision imports of its own.
FIRST = "torchvision.extension"
# The declarations last as long as the library object does.
_declared: list[object] = []


class _BeforeTorchvision:
    """Declares the operators when torchvision is imported; finds no module."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == FIRST and not _declared:
            _declare()


def declare_when_imported() -> None:
    """Once a process, also where the copy in the environment did it."""
    if not any(getattr(one, "__name__", "") == _BeforeTorchvision.__name__ for one in sys.meta_path):
        sys.meta_path.insert(0, _BeforeTorchvision)


def _declare() -> None:
    from importlib import metadata

    import torch

    if torch.version.cuda is None and "+cpu" not in metadata.version("torchvision"):
        library = torch.library.Library("torchvision", "FRAGMENT")
        library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _declared.append(library)
