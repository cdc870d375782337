"""`config/config.yaml`: the suite to make, and the settings that all suites share."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, ValidationInfo, WithJsonSchema, field_validator

from reprise.config.names import Slug
from reprise.core.errors import UserError, choices
from reprise.core.names import one_of
from reprise.core.settings import LocalPath, PathText, Settings, mistake
from reprise.media import sampling
from reprise.media.views import NONE


def _checked(rule: dict[str, Any]) -> dict[str, Any]:
    try:
        sampling.check(rule)
    except UserError as error:
        raise mistake(str(error)) from None
    return rule


def _rule_schema() -> dict[str, Any]:
    """Return the JSON schema of sampling rules, in which the name of a rule determines its parameters."""
    parameter_schemas = {
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
                "properties": {
                    "rule": {"const": name},
                    **{parameter: parameter_schemas[parameter] for parameter in sorted(parameters)},
                },
                "required": ["rule", *sorted(parameters - {"seed"})],
                "additionalProperties": False,
            }
            for name, parameters in sampling.RULES.items()
        ]
    }


Sampling = Annotated[dict[str, Any], AfterValidator(_checked), WithJsonSchema(_rule_schema())]


class Grid(Settings):
    """A view that shows all frames of a sampling as one picture."""

    show: Literal["grid"]
    """`grid`: all frames as one picture, in reading order."""
    rows: int = Field(ge=1)
    """Rows of the grid."""
    columns: int = Field(ge=1)
    """Columns of the grid. The sampling must show as many frames as it has cells."""


class InTime(Settings):
    """A view that shows other frames at the moments of a sampling, which a model is told as before."""

    show: Literal["none", "middle", "first", "reversed"]
    """`none`: no frame; `middle`: the middle one alone; `first`: the first one at every moment; `reversed`: all in
    reverse order. Of a concatenation each side of the black is viewed by itself, and what is black stays."""


class Drawn(Settings):
    """A view of the same kind, which is drawn for each clip."""

    show: Literal["shuffled", "another"]
    """`shuffled`: the frames in an order that is never the planned one; `another`: as many frames of another clip of
    the benchmark, which is of another unit (a video, or a pair)."""
    seed: int = 0
    """Seed of the draw."""


View = Annotated[Grid | InTime | Drawn, Discriminator("show")]


class Main(Settings):
    """`config/config.yaml`: the suite to make, and the settings that all suites share."""

    suite: Slug
    """Name of a file in `config/suites/`. `snakemake TARGET --config suite=<name>` replaces it for one call."""
    store: LocalPath = "resources/store"
    """Folder of what is kept when `results/` is deleted or the suite changes: videos, clips, weights, answers."""
    scratch: PathText | None = None
    """Folder for videos that are being fetched or encoded, such as a node's own disk; it may name variables that are
    set there, such as `$TMPDIR`. By default such files lie in the store."""
    confidence: float = Field(0.95, gt=0.5, lt=1)
    """How often an interval is to hold the true value: 0.95 gives 95 % intervals (docs/reference/statistics.md)."""
    report_clips: Literal["link", "copy"] = "link"
    """`link`: the report plays clips from the store; `copy`: it holds copies of them, so that its folder can be sent to
    somebody where the licence of the videos allows it (docs/howto/report.md)."""
    views: dict[Slug, View] = Field({})
    """Named ways to show the frames of any sampling. Tables refer to them as `<sampling>.<view>`."""
    samplings: dict[Slug, Sampling]
    """Named sampling rules: which frames of a clip a model sees. Tables refer to them by name."""

    @field_validator("samplings")
    @classmethod
    def _by_view(cls, samplings: dict[str, dict[str, Any]], info: ValidationInfo) -> dict[str, dict[str, Any]]:
        """Add each rule under `<sampling>.<view>` for every view that is compatible with it."""
        views: dict[str, Settings] = info.data.get("views", {})
        base_rules = {name: rule for name, rule in samplings.items() if not _is_viewed(name, samplings, views)}
        rules = dict(base_rules)
        for view, settings in views.items():
            for name, rule in base_rules.items():
                with suppress(UserError):
                    rules[f"{name}.{view}"] = sampling.with_view(rule, settings.model_dump())
        for name, rule in samplings.items():
            if rules.get(name) != rule or (name in base_rules and "view" in rule):
                raise mistake(f"'{name}': a view is declared in `views:`; it is named behind any sampling.")
        return rules

    def is_viewed(self, name: str) -> bool:
        """Return whether a name is that of a sampling with a view."""
        return _is_viewed(name, self.samplings, self.views)

    @property
    def pattern(self) -> str:
        """Return the wildcard pattern of any sampling, with or without a view."""
        base = one_of(name for name in self.samplings if not self.is_viewed(name))
        return rf"(?:{base})(?:\.(?:{one_of(self.views)}))?"

    def viewed(self, name: str, show: str) -> str:
        """Return the name of a sampling with a view; the text-only baseline is the sampling without frames."""
        if show == NONE:
            return next(base for base, rule in self.samplings.items() if rule == sampling.BLIND)
        return f"{name}.{self.view_that_shows(show)}"

    def view_that_shows(self, show: str) -> str | None:
        """Return the name of the view of a kind, or None."""
        return next((name for name, view in self.views.items() if view.show == show), None)

    def sampling_problems(self, name: str) -> list[str]:
        """Return why there is no sampling of this name."""
        if name in self.samplings:
            return []
        base, _, view = name.rpartition(".")
        if base not in self.samplings:
            return [f"unknown sampling '{name}'.{choices(name, self.samplings)}"]
        if view not in self.views:
            return [f"sampling '{base}' has no view '{view}'.{choices(view, self.views)}"]
        try:
            sampling.with_view(self.samplings[base], self.views[view].model_dump())
        except UserError as error:
            return [f"sampling '{name}': {error}"]
        return []


def _is_viewed(name: str, samplings: Mapping[str, Any], views: Mapping[str, Any]) -> bool:
    base, _, view = name.rpartition(".")
    return base in samplings and view in views
