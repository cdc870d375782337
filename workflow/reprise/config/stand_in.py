"""A baseline in place of every model: a suite can play all tables through where none of their models runs."""

from hashlib import sha256

from reprise.config.schema import Configuration, Model
from reprise.core.errors import unknown
from reprise.models.adapters import ADAPTERS, ANYTHING


def stand_in_problems(found: Configuration, suite_file: str) -> list[str]:
    """A stand-in must exist, run on any machine, and answer whatever is asked."""
    name = found.suite.stand_in
    if name is None:
        return []
    where = f"{suite_file}: stand_in"
    able = [slug for slug, model in found.models.items() if _is_able(model)]
    if name not in found.models:
        return [str(unknown("model", name, able, where))]
    if name not in able:
        adapter = found.models[name].adapter
        return [
            f"{where}: '{name}' (adapter '{adapter}') needs weights or a server, or cannot answer all kinds of "
            f"questions. Allowed: {', '.join(sorted(able))}."
        ]
    return []


def _is_able(model: Model) -> bool:
    adapter = ADAPTERS.get(model.adapter)
    return (
        adapter is not None
        and not adapter.needs_weights
        and not adapter.is_remote
        and set(ANYTHING) <= set(adapter.asks)
    )


def with_stand_in(found: Configuration) -> Configuration:
    """The configuration with every model replaced by the suite's stand-in; labels stay, and so that rows differ, each
    model's slug is its seed."""
    name = found.suite.stand_in
    if name is None:
        return found
    baseline = found.models[name]
    replaced = {
        slug: baseline.model_copy(update={"label": model.label, "settings": baseline.settings | {"seed": _seed(slug)}})
        for slug, model in found.models.items()
    }
    return found.model_copy(update={"models": replaced | {name: baseline}})


def _seed(slug: str) -> int:
    return int(sha256(slug.encode()).hexdigest()[:8], 16)
