"""What becomes of a suite's configuration: a stand-in for its models, a part of it."""

from dataclasses import replace
from hashlib import sha256

from reprise.config.configuration import Configuration


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
    return replace(found, models=replaced | {name: baseline})


def with_limit(found: Configuration) -> Configuration:
    """The configuration; of a part, `<suite>-limit<N>`, said in the title and notice that people read."""
    if found.limit is None:
        return found
    said = {
        "title": f"{found.suite.title}, a part: {found.limit} units of each benchmark",
        "notice": f"A part only: at most {found.limit} units (videos, or pairs of Vinoground) of each benchmark, drawn "
        f"evenly over their kinds. Answers that were made elsewhere are left out. {found.suite.notice}".strip(),
    }
    return replace(found, suite=found.suite.model_copy(update=said))
