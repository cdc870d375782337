"""Derive variants of a suite's configuration: with a baseline instead of its models, or with a sample of its items."""

from dataclasses import replace
from hashlib import sha256

from reprise.config.configuration import Configuration


def replace_models_by_baseline(config: Configuration) -> Configuration:
    """Return the configuration with the suite's baseline in place of every model.

    Labels and `reference:` stay. Each model's slug becomes its seed, so the rows differ.
    """
    name = config.suite.baseline
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


def describe_limit(config: Configuration) -> Configuration:
    """Return the configuration with the limit in its title and notice, if the suite's name has a limit."""
    if config.limit is None:
        return config
    texts = {
        "title": f"{config.suite.title}, sample of {config.limit} clusters of each benchmark",
        "notice": f"Sample: at most {config.limit} clusters (videos, or pairs of Vinoground) of each benchmark, "
        f"drawn evenly over their kinds. Imported predictions are excluded. {config.suite.notice}".strip(),
    }
    return replace(config, suite=config.suite.model_copy(update=texts))
