"""Read the configuration of a training run."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import yaml
from reprise.core.errors import UserError, unknown_name_error


@dataclass(frozen=True)
class ModelSize:
    """The sizes of the tiny model."""

    vision_width: int
    vision_inner: int
    vision_layers: int
    patch: int
    width: int
    inner: int
    layers: int
    heads: int
    vocabulary: int


@dataclass(frozen=True)
class TrainConfig:
    """All settings that determine a run's result and its execution."""

    seed: int
    clips: int
    ranks: int
    see_steps: int
    describe_steps: int
    mix_steps: int
    tune_steps: int
    early_step: int
    see_rate: float
    rate: float
    warmup_steps: int
    flat_share: float
    compile: bool
    save_every_seconds: int
    evaluate_every_steps: int
    size: ModelSize

    @property
    def total_steps(self) -> int:
        """Return the number of steps of all stages."""
        return self.see_steps + self.describe_steps + self.mix_steps + self.tune_steps


def _check_keys(kind: type[Any], values: dict[str, Any], location: str) -> dict[str, Any]:
    names = {entry.name for entry in fields(kind)}
    for name in values:
        if name not in names:
            raise unknown_name_error("key", name, names, location)
    if missing := sorted(names - set(values)):
        raise UserError(f"{location}: missing {', '.join(missing)}.")
    return values


@dataclass(frozen=True)
class TowerSize:
    """The sizes of one small transformer."""

    width: int
    inner: int
    layers: int
    heads: int


@dataclass(frozen=True)
class SmallConfig:
    """The settings of a short run in one process: the dual encoder's or the text-only model's."""

    seed: int
    batch: int
    steps: int
    rate: float
    warmup_steps: int
    text: TowerSize


def load_config(path: Path) -> TrainConfig:
    """Read a run's configuration; reject unknown and missing keys."""
    values: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    checked = _check_keys(TrainConfig, values, str(path))
    size = ModelSize(**_check_keys(ModelSize, checked["size"], f"{path}: size"))
    return TrainConfig(**{**checked, "size": size})


def load_small_config(path: Path) -> SmallConfig:
    """Read a short run's configuration; reject unknown and missing keys."""
    values: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    checked = _check_keys(SmallConfig, values, str(path))
    size = TowerSize(**_check_keys(TowerSize, checked["text"], f"{path}: text"))
    return SmallConfig(**{**checked, "text": size})


def config_values(config: TrainConfig) -> dict[str, Any]:
    """Return the configuration as plain values."""
    return asdict(config)
