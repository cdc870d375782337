"""Derive variants of a suite's configuration: a baseline in place of its models, or a limited part of it."""

from dataclasses import replace
from hashlib import sha256

from reprise.config.configuration import Configuration


def with_stand_in(config: Configuration) -> Configuration:
    """Return the configuration with the suite's baseline in place of every model.

    Labels and references are kept. Each model's slug is its seed, so that rows differ.
    """
    name = config.suite.stand_in
    if name is None:
        return config
    baseline = config.models[name]
    baselines = {
        slug: baseline.model_copy(
            update={
                "label": model.label,
                "reference": model.reference,
                "settings": baseline.settings | {"seed": int(sha256(slug.encode()).hexdigest()[:8], 16)},
            }
        )
        for slug, model in config.models.items()
    }
    return replace(config, models=baselines | {name: baseline})


def with_limit(config: Configuration) -> Configuration:
    """Return the configuration with a title and notice that state its limit, if it has one."""
    if config.limit is None:
        return config
    texts = {
        "title": f"{config.suite.title}, a part: {config.limit} units of each benchmark",
        "notice": f"A part only: at most {config.limit} units (videos, or pairs of Vinoground) of each benchmark, "
        f"drawn evenly over their kinds. Answers that were made elsewhere are left out. {config.suite.notice}".strip(),
    }
    return replace(config, suite=config.suite.model_copy(update=texts))
