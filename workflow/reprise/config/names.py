"""Names in the configuration: each can stand in a path or a command."""

from typing import Annotated

from pydantic import Field

from reprise.core.names import SLUG

Slug = Annotated[str, Field(pattern=f"^{SLUG}$")]
RunName = Annotated[str, Field(pattern=f"^{SLUG}/{SLUG}/{SLUG}$")]
TableName = Annotated[str, Field(pattern=r"^table[0-9]+$")]
