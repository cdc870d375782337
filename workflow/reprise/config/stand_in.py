"""Replaces every model by a baseline, so that a suite can make all tables without running their models."""

from collections.abc import Collection
from hashlib import sha256

from reprise.config.configuration import Configuration
from reprise.config.model import Model
from reprise.core.errors import choices
from reprise.models.adapters import ADAPTERS, ANYTHING


def stand_in_problems(found: Configuration, unreadable: Collection[str]) -> list[str]:
    """A stand-in must exist, run on any machine, and answer whatever is asked."""
    name = found.suite.stand_in
    if name is None or name in unreadable:
        return []
    able = sorted(slug for slug, model in found.models.items() if _is_able(model))
    if name not in found.models:
        return [f"unknown model '{name}'.{choices(name, able)}"]
    if name not in able:
        return [
            f"'{name}' (adapter '{found.models[name].adapter}') needs weights or a server, or cannot answer all kinds "
            f"of questions. Allowed: {', '.join(able)}."
        ]
    return []


def _is_able(model: Model) -> bool:
    adapter = ADAPTERS[model.adapter]
    return not adapter.needs_weights and not adapter.is_remote and set(ANYTHING) <= set(adapter.asks)


def with_stand_in(found: Configuration) -> Configuration:
    """The configuration with every model replaced by the suite's stand-in; labels and references stay, and so
    that rows differ, each model's slug is its seed."""
    name = found.suite.stand_in
    if name is None:
        return found
    baseline = found.models[name]
    replaced = {
        slug: baseline.model_copy(
            update={
                "label": model.label,
                "reference": model.reference,
                "settings": baseline.settings | {"seed": _seed(slug)},
            }
        )
        for slug, model in found.models.items()
    }
    return found.model_copy(update={"models": replaced | {name: baseline}})


def _seed(slug: str) -> int:
    return int(sha256(slug.encode()).hexdigest()[:8], 16)
