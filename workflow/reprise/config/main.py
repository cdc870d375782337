"""`config/config.yaml`: the suite to make, and the settings that all suites share."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from reprise.config.names import Slug
from reprise.core.errors import UserError
from reprise.core.settings import Settings, mistake
from reprise.media import sampling


def _checked(rule: dict[str, Any]) -> dict[str, Any]:
    try:
        sampling.check(rule)
    except UserError as error:
        raise mistake(str(error)) from None
    return rule


def _rule_schema() -> dict[str, Any]:
    """A rule's name decides which parameters it has."""
    of_kind = {
        "frames": {"type": "integer", "minimum": 1, "description": "Frames of every clip."},
        "fps": {"type": "number", "exclusiveMinimum": 0, "description": "Frames a second."},
        "of": {"type": "object", "description": "The rule that gives the frames from which one is drawn."},
        "seed": {"type": "integer", "description": "Seed of the draw; 0 by default."},
    }
    return {
        "oneOf": [
            {
                "type": "object",
                "description": sampling.description(name),
                "properties": {"rule": {"const": name}, **{one: of_kind[one] for one in sorted(parameters)}},
                "required": ["rule", *sorted(parameters - {"seed"})],
                "additionalProperties": False,
            }
            for name, parameters in sampling.RULES.items()
        ]
    }


Sampling = Annotated[dict[str, Any], AfterValidator(_checked), WithJsonSchema(_rule_schema())]


class Main(Settings):
    """`config/config.yaml`: the suite to make, and the settings that all suites share."""

    suite: Slug
    """Name of a file in `config/suites/`. `snakemake TARGET --config suite=<name>` replaces it for one call."""
    store: str = "resources/store"
    """Folder of what is kept when `results/` is deleted or the suite changes: videos, clips, weights, answers."""
    locks: str | None = None
    """Folder on a file system with locks, for a store on one that has none; by default the store holds its own locks.
    The store remembers it for all that use it (docs/reference/store.md)."""
    scratch: str | None = None
    """Folder for videos that are being fetched or encoded, such as a node's own disk; it may name variables that are
    set there, such as `$TMPDIR`. By default such files lie in the store."""
    confidence: float = Field(0.95, gt=0.5, lt=1)
    """How often an interval is to hold the true value: 0.95 gives 95 % intervals (docs/reference/statistics.md)."""
    report_clips: Literal["link", "copy"] = "link"
    """`link`: the report plays clips from the store; `copy`: it holds copies of them, so that its folder can be sent to
    somebody where the licence of the videos allows it (docs/howto/report.md)."""
    samplings: dict[Slug, Sampling]
    """Named sampling rules: which frames of a clip a model sees. Tables refer to them by name."""
