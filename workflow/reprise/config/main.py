"""`config/config.yaml`: the selected suite, and the settings that all suites share."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, ValidationInfo, WithJsonSchema, field_validator

from reprise.config.names import Slug
from reprise.core.errors import UserError, describe_choices
from reprise.core.names import any_of_pattern
from reprise.core.settings import LocalPath, PathText, Settings, setting_error
from reprise.media import sampling
from reprise.media.ablations import NONE


def _check_rule(rule: dict[str, Any]) -> dict[str, Any]:
    """Return the rule of a sampling if it is valid."""
    try:
        sampling.validate_rule(rule)
    except UserError as error:
        raise setting_error(str(error)) from None
    return rule


def _rule_schema() -> dict[str, Any]:
    """Return the JSON schema of a sampling: one alternative for each rule, with the rule's parameters."""
    parameter_schemas = {
        "frames": {"type": "integer", "minimum": 1, "description": "Number of frames."},
        "fps": {"type": "number", "exclusiveMinimum": 0, "description": "Frames per second."},
        "of": {"type": "object", "description": "Rule from whose frames one is drawn."},
        "seed": {"type": "integer", "description": "Random seed; 0 by default."},
    }
    return {
        "oneOf": [
            {
                "type": "object",
                "description": sampling.describe_rule(name),
                "properties": {
                    "rule": {"const": name},
                    **{parameter: parameter_schemas[parameter] for parameter in sorted(parameters)},
                },
                "required": ["rule", *sorted(parameters - {"seed"})],
                "additionalProperties": False,
            }
            for name, parameters in sampling.PARAMETERS_BY_RULE.items()
        ]
    }


Sampling = Annotated[dict[str, Any], AfterValidator(_check_rule), WithJsonSchema(_rule_schema())]


class GridTransform(Settings):
    """A transform that shows all frames of a sampling in one picture."""

    show: Literal["grid"]
    """`grid`: all frames in one picture, in reading order."""
    rows: int = Field(ge=1)
    """Rows of the grid."""
    columns: int = Field(ge=1)
    """Columns of the grid; the sampling must select one frame per cell."""


class TemporalTransform(Settings):
    """A temporal ablation without random choices."""

    show: Literal["none", "first", "middle", "last", "first_repeated", "middle_repeated", "last_repeated", "reversed"]
    """`none`: no frames; `first`, `middle`, `last`: this frame only; `first_repeated`, `middle_repeated`,
    `last_repeated`: this frame at every timestamp; `reversed`: all frames in reverse order. If a clip is two joined
    videos, each of them is changed separately, and the black frames between them stay."""


class RandomTransform(Settings):
    """A temporal ablation with a random choice for each clip."""

    show: Literal["shuffled", "mismatched"]
    """`shuffled`: the frames in an order other than the original; `mismatched`: as many frames of a clip from another
    source video or pair."""
    seed: int = 0
    """Random seed."""


class ProbeTransform(Settings):
    """A temporal ablation of the single-frame probe; `single_frame_probe:` of a suite adds one for each frame."""

    show: Literal["frame", "frame_repeated", "mismatched_frame", "mismatched_frame_repeated"]
    """`frame`: one planned frame only; `frame_repeated`: this frame at every timestamp; `mismatched_frame`,
    `mismatched_frame_repeated`: the same with the frames of a clip from another source video or pair."""
    position: int = Field(ge=1)
    """Number of the frame among the planned ones, from 1."""
    seed: int = 0
    """Random seed of the choice of the mismatched clip."""


Transform = Annotated[GridTransform | TemporalTransform | RandomTransform | ProbeTransform, Discriminator("show")]


class Main(Settings):
    """`config/config.yaml`: the selected suite, and the settings that all suites share."""

    suite: Slug
    """The suite that is used by default: the name of a file in `config/suites/`. `--config suite=<name>` selects
    another one."""
    benchmarks: list[Slug] | None = None
    """Benchmarks of the suite to use, such as `--config benchmarks=velociti,vinoground`; by default all."""
    store: LocalPath = "resources/store"
    """Folder of the store, which survives the deletion of `results/`."""
    scratch: PathText | None = None
    """Folder for temporary files on the machine of a job, such as `$TMPDIR`; by default a folder of the store."""
    confidence: float = Field(0.95, gt=0.5, lt=1)
    """Level of the confidence intervals (docs/reference/statistics.md)."""
    report_clips: Literal["link", "copy"] = "link"
    """Clips of the report: `link` to the clips in the store, or `copy` them, so that you can send the report to
    somebody if the licence allows it (docs/howto/report.md)."""
    transforms: dict[Slug, Transform] = Field({})
    """Changes of the frames that a sampling selects. Rows of tables name them as `<sampling>.<transform>`."""
    samplings: dict[Slug, Sampling]
    """Rules that select the frames of a clip."""

    @field_validator("benchmarks", mode="before")
    @classmethod
    def _split_names(cls, value: Any) -> Any:
        """Split names that a command line joins by commas."""
        return value.split(",") if isinstance(value, str) else value

    @field_validator("samplings")
    @classmethod
    def _add_transforms(cls, samplings: dict[str, dict[str, Any]], info: ValidationInfo) -> dict[str, dict[str, Any]]:
        """Add each rule under `<sampling>.<transform>` for every transform that is compatible with it."""
        transforms: dict[str, Settings] = info.data.get("transforms", {})
        base_rules = {
            name: rule for name, rule in samplings.items() if not _is_transformed(name, samplings, transforms)
        }
        all_rules = dict(base_rules)
        for transform, settings in transforms.items():
            for name, rule in base_rules.items():
                with suppress(UserError):
                    all_rules[f"{name}.{transform}"] = sampling.add_transform(rule, settings.model_dump())
        # Samplings that are validated again contain the rules added here. Anything else is an error: another rule under
        # `<sampling>.<transform>`, or a rule that itself has a transform.
        for name, rule in samplings.items():
            if all_rules.get(name) != rule or (name in base_rules and "transform" in rule):
                raise setting_error(
                    f"'{name}': declare the transform in `transforms:`, and refer to it as `<sampling>.<transform>`."
                )
        return all_rules

    def add_transforms(self, transforms: Mapping[str, Transform]) -> "Main":
        """Return the settings with more transforms, for all samplings that are compatible with them."""
        base_samplings = {name: rule for name, rule in self.samplings.items() if not self.is_transformed(name)}
        return Main.model_validate(
            self.model_dump() | {"transforms": {**self.transforms, **transforms}, "samplings": base_samplings}
        )

    def is_transformed(self, name: str) -> bool:
        """Return whether a name stands for a sampling with a transform."""
        return _is_transformed(name, self.samplings, self.transforms)

    @property
    def pattern(self) -> str:
        """Return the wildcard pattern of any sampling, with or without a transform."""
        base = any_of_pattern(name for name in self.samplings if not self.is_transformed(name))
        return rf"(?:{base})(?:\.(?:{any_of_pattern(self.transforms)}))?"

    def transformed_name(self, name: str, show: str) -> str:
        """Return the name of a sampling with a transform; for the text-only baseline, the sampling without frames."""
        if show == NONE:
            return next(base for base, rule in self.samplings.items() if rule == sampling.NO_FRAMES_RULE)
        return f"{name}.{self.find_transform(show)}"

    def find_transform(self, show: str) -> str | None:
        """Return the name of the first transform with this `show:`, or None."""
        return next((name for name, transform in self.transforms.items() if transform.show == show), None)

    def sampling_problems(self, name: str) -> list[str]:
        """Return the problems of a sampling's name; the list is empty if the sampling exists."""
        if name in self.samplings:
            return []
        base, _, transform = name.rpartition(".")
        if base not in self.samplings:
            return [f"unknown sampling '{name}'.{describe_choices(name, self.samplings)}"]
        if transform not in self.transforms:
            return [f"sampling '{base}' has no transform '{transform}'.{describe_choices(transform, self.transforms)}"]
        try:
            sampling.add_transform(self.samplings[base], self.transforms[transform].model_dump())
        except UserError as error:
            return [f"sampling '{name}': {error}"]
        return []


def _is_transformed(name: str, samplings: Mapping[str, Any], transforms: Mapping[str, Any]) -> bool:
    """Return whether a name is `<sampling>.<transform>` with a known sampling and a known transform."""
    base, _, transform = name.rpartition(".")
    return base in samplings and transform in transforms
