"""Names in the configuration, which are safe in a path or a command, and labels."""

from typing import Annotated, Any

from pydantic import Field

from reprise.core.names import FIGURE, LABEL, NAME, RUN, TABLE
from reprise.core.settings import Settings

Slug = Annotated[str, Field(pattern=NAME)]
RunName = Annotated[str, Field(pattern=RUN)]
TableName = Annotated[str, Field(pattern=TABLE)]
FigureName = Annotated[str, Field(pattern=FIGURE)]
Label = Annotated[str, Field(pattern=LABEL)]


def get_entry_tag(entry: Any) -> str:
    """Return the tag of an entry that is a text or a group of keys; pydantic selects the entry's type by the tag."""
    return "(group)" if isinstance(entry, dict | Settings) else "(text)"
