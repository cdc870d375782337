"""Replaces every model by a baseline, so that a suite can make all tables without running their models."""

from collections.abc import Collection
from hashlib import sha256

from reprise.config.configuration import Configuration
from reprise.config.problems import unknown_name
from reprise.models.adapters import ADAPTERS, ANYTHING


def stand_in_problems(found: Configuration, unreadable: Collection[str]) -> list[str]:
    """A stand-in must exist, run on any machine, and answer whatever is asked."""
    name = found.suite.stand_in
    if name is None or name in unreadable:
        return []
    adapters = {slug: ADAPTERS[model.adapter] for slug, model in found.models.items()}
    able = sorted(
        slug
        for slug, adapter in adapters.items()
        if not adapter.needs_weights and not adapter.is_remote and set(ANYTHING) <= set(adapter.asks)
    )
    if name in able or name not in found.models:
        return unknown_name("model", name, able)
    lacks = "needs weights or a server, or cannot answer all kinds of questions"
    return [f"'{name}' (adapter '{found.models[name].adapter}') {lacks}. Allowed: {', '.join(able)}."]


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
                "settings": baseline.settings | {"seed": int(sha256(slug.encode()).hexdigest()[:8], 16)},
            }
        )
        for slug, model in found.models.items()
    }
    return found.model_copy(update={"models": replaced | {name: baseline}})
