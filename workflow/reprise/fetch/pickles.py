"""MMBench-Video's pickles of {name: bytes}, read without running anything that they hold."""

import pickle
from pathlib import Path
from typing import Any

from reprise.fetch.outcome import FetchError


class _DataOnly(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        raise FetchError(
            "unsafe_pickle", f"the pickle needs {module_name}.{global_name}; only dict, str and bytes are read"
        )


def read_videos(path: Path) -> dict[str, bytes]:
    """The {name: bytes} of a pickle; anything else in it is refused."""
    try:
        with path.open("rb") as stream:
            found = _DataOnly(stream).load()
    except (pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError, AttributeError, TypeError) as error:
        raise FetchError("failed", f"{path.name}: not a whole pickle ({error})") from error
    if type(found) is not dict:
        raise FetchError("unsafe_pickle", f"{path.name}: holds {type(found).__name__}, expected dict")
    for name, content in found.items():
        if type(name) is not str or type(content) is not bytes:
            raise FetchError(
                "unsafe_pickle", f"{path.name}: {name!r:.60} is {type(content).__name__}, expected str: bytes"
            )
    return found
