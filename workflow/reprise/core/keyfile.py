"""Key files: the JSON that holds one job's settings, checked so that an error names the file and the key.

Each room of the library states the keys of what it computes; the plan fills them in and writes them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from reprise.core.errors import UserError
from reprise.core.files import file_digest, read_json
from reprise.core.settings import Settings, dotted, mistakes

T = TypeVar("T", bound=BaseModel)


class Key(Settings):
    """A whole key file, or the part of one that names code: `code` is the digest of the modules behind a job."""

    code: str = ""


def refuse_edited(files: Mapping[str, str]) -> None:
    """End the job if a file of the user's is another one than its key says; called when the files were read."""
    for name, digest in files.items():
        path = Path(name)
        if not path.is_file() or file_digest(path) != digest:
            raise UserError(
                f"{path}: edited since this run was planned. Nothing was recorded: run the same command again, which "
                "takes it as it is then."
            )


def read_key(path: Path, kind: type[T]) -> T:
    """Read a key file into its model, or raise an error that names the wrong key."""
    content = read_json(path)
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        found = [f"{dotted(place)}: {words}" for place, words in mistakes(error, content)]
        raise UserError(f"{path}: {' '.join(found)} Correct the configuration that this key comes from.") from error
