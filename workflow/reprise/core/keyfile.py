"""Key files: the JSON that holds one stage's settings, checked so that an error names the file and the key."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from reprise.core.errors import UserError
from reprise.core.files import read_json

T = TypeVar("T", bound="Key")


class Settings(BaseModel):
    """A group of settings; a key it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Key(Settings):
    """A whole key file; `code` is the digest of the code behind a stage, there to change when the code does."""

    code: Any = None


def read_key(path: Path, kind: type[T]) -> T:
    """Read a key file into its model, or say which of its keys is wrong."""
    try:
        return kind.model_validate(read_json(path))
    except ValidationError as error:
        found = [f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors()]
        raise UserError(f"{path}: {'; '.join(found)}. Correct the configuration that this key comes from.") from error
