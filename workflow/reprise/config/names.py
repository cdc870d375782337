"""Names in the configuration: each is safe in a path or a command."""

from typing import Annotated

from pydantic import Field

from reprise.core.names import FIGURE, NAME, RUN, TABLE

Slug = Annotated[str, Field(pattern=NAME)]
RunName = Annotated[str, Field(pattern=RUN)]
TableName = Annotated[str, Field(pattern=TABLE)]
FigureName = Annotated[str, Field(pattern=FIGURE)]
