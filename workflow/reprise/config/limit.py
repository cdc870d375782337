"""A part of a suite, `<suite>-limit<N>`: so many units of each benchmark, and every output says so."""

from collections.abc import Iterator

from reprise.config.configuration import Configuration


def with_limit(found: Configuration) -> Configuration:
    """The configuration, with the part in the suite's title and notice, which all that people read shows."""
    if found.limit is None:
        return found
    suite = found.suite
    title = f"{suite.title}, a part: {found.limit} units of each benchmark"
    notice = (
        f"A part only: at most {found.limit} units (videos, or pairs of Vinoground) of each benchmark, drawn evenly "
        "over their kinds. Answers that were made elsewhere are left out."
    )
    notice = " ".join(filter(None, [notice, suite.notice]))
    return found.model_copy(update={"suite": suite.model_copy(update={"title": title, "notice": notice})})


def limit_problems(found: Configuration) -> Iterator[str]:
    """Why there is no part of a suite."""
    made = [name for name, entry in found.suite.benchmarks.items() if entry.construction is not None]
    if found.limit is not None and made:
        yield f"it makes benchmarks ({', '.join(made)}), of which there is no part. Name another suite."
