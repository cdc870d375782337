"""Derive variants of a suite's configuration: distinct labels, a baseline as its models, or a part of its items."""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from hashlib import sha256

from reprise.config.configuration import Configuration
from reprise.core.errors import reject_unknown


def distinguish_labels(config: Configuration, slugs: Collection[str]) -> Configuration:
    """Return the configuration with the slug added to each label that several of these models share."""
    labels = {slug: model.label for slug, model in config.models.items() if slug in slugs}
    counts = Counter(labels.values())
    distinct_models = {
        slug: config.models[slug].model_copy(update={"label": f"{label} ({slug})"})
        for slug, label in labels.items()
        if counts[label] > 1
    }
    return replace(config, models=config.models | distinct_models)


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


def select_benchmarks(config: Configuration, names: Collection[str], source: str) -> Configuration:
    """Return the configuration with these benchmarks only; `source` names the origin of the names in a message.

    Lines of the overview that have none of them are left out.
    """
    suite = config.suite
    reject_unknown("benchmark", names, suite.benchmarks, source)
    overview = [
        written_line
        for written_line, line in zip(suite.overview, suite.overview_lines(), strict=True)
        if line.benchmarks is None or not set(names).isdisjoint(line.benchmarks)
    ]
    suite_benchmarks = {name: settings for name, settings in suite.benchmarks.items() if name in names}
    return replace(
        config,
        suite=suite.model_copy(update={"benchmarks": suite_benchmarks, "overview": overview}),
        benchmarks={name: benchmark for name, benchmark in config.benchmarks.items() if name in names},
        tables={name: tables for name, tables in config.tables.items() if name in names},
        figures={name: figures for name, figures in config.figures.items() if name in names},
    )


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
