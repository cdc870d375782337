"""Key files: the JSON that holds one stage's settings, checked so that an error names the file and the key."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from reprise.core.errors import UserError
from reprise.core.files import read_json
from reprise.core.settings import Settings, dotted, mistakes

T = TypeVar("T", bound="Key")


class Key(Settings):
    """A whole key file; `code` is the digest of the code behind a stage, there to change when the code does."""

    code: Any = None


def read_key(path: Path, kind: type[T]) -> T:
    """Read a key file into its model, or say which of its keys is wrong."""
    content = read_json(path)
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        found = [f"{dotted(place)}: {words}" for place, words in mistakes(error, content)]
        raise UserError(f"{path}: {' '.join(found)} Correct the configuration that this key comes from.") from error
