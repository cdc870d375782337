"""The configuration of a training run."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import yaml
from reprise.core.errors import UserError, unknown


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
    """Everything that decides a run's result, and how it is carried out."""

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
        """All steps of the three stages."""
        return self.see_steps + self.describe_steps + self.mix_steps + self.tune_steps


def _checked(kind: type[Any], values: dict[str, Any], where: str) -> dict[str, Any]:
    names = {entry.name for entry in fields(kind)}
    for name in values:
        if name not in names:
            raise unknown("key", name, names, where)
    if missing := sorted(names - set(values)):
        raise UserError(f"{where}: missing {', '.join(missing)}.")
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
    """A short run in one process: the dual encoder's or the text-only model's."""

    seed: int
    batch: int
    steps: int
    rate: float
    warmup_steps: int
    text: TowerSize


def load_config(path: Path) -> TrainConfig:
    """Read a run's configuration; unknown and missing keys are refused."""
    values: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    checked = _checked(TrainConfig, values, str(path))
    size = ModelSize(**_checked(ModelSize, checked["size"], f"{path}: size"))
    return TrainConfig(**{**checked, "size": size})


def load_small_config(path: Path) -> SmallConfig:
    """Read a short run's configuration; unknown and missing keys are refused."""
    values: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    checked = _checked(SmallConfig, values, str(path))
    size = TowerSize(**_checked(TowerSize, checked["text"], f"{path}: text"))
    return SmallConfig(**{**checked, "text": size})


def config_values(config: TrainConfig) -> dict[str, Any]:
    """The configuration as plain values."""
    return asdict(config)
