"""Derive variants of a suite's configuration: a baseline in place of its models, or a sample of its items."""

from dataclasses import replace
from hashlib import sha256

from reprise.config.configuration import Configuration


def replace_models_by_baseline(config: Configuration) -> Configuration:
    """Return the configuration with the suite's baseline in place of every model.

    Labels and references are kept. Each model's slug is its seed, so that rows differ.
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
    """Return the configuration with a title and notice that state the limit of its name, if it has one."""
    if config.limit is None:
        return config
    texts = {
        "title": f"{config.suite.title}, sample of {config.limit} clusters of each benchmark",
        "notice": f"Sample: at most {config.limit} clusters (videos, or pairs of Vinoground) of each benchmark, "
        f"drawn evenly over their kinds. Imported predictions are excluded. {config.suite.notice}".strip(),
    }
    return replace(config, suite=config.suite.model_copy(update=texts))
