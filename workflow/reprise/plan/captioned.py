"""What `snakemake --report` says of tables and figures: wildcards go in, captions and categories come out."""

import re
from typing import Any

from reprise.plan.runs import Plan

SIGNS = re.compile(r"[!-/:-@\[-`{-~]")


def as_text(words: str) -> str:
    """Words that reStructuredText shows as they are."""
    return SIGNS.sub(lambda sign: f"\\{sign[0]}", " ".join(words.split()))


class Captioned:
    """The captions of what a suite makes."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._notice = plan, plan.config.suite.notice

    def benchmark(self, wildcards: Any) -> str:
        """The category of a table or figure."""
        return self._plan.config.benchmarks[wildcards.benchmark].title

    def table(self, wildcards: Any) -> str:
        spec = self._plan.table(wildcards.benchmark, wildcards.table)
        return as_text(f"{self._notice} {spec.title}. {spec.caption}")

    def figure(self, wildcards: Any) -> str:
        spec = self._plan.figure(wildcards.benchmark, wildcards.figure)
        return as_text(f"{self._notice} {spec.title}. {spec.caption}")

    def whole(self, title: str) -> str:
        """The caption of what is over all benchmarks."""
        return as_text(f"{self._notice} {title}")

    def table_labels(self, wildcards: Any) -> dict[str, str]:
        spec = self._plan.table(wildcards.benchmark, wildcards.table)
        return {"what": f"Table {wildcards.table.removeprefix('table')}", "title": spec.title}

    def figure_labels(self, wildcards: Any) -> dict[str, str]:
        spec = self._plan.figure(wildcards.benchmark, wildcards.figure)
        number = wildcards.figure.removeprefix("fig")
        return {"what": f"Figure {number}" if number.isdecimal() else "Our analysis", "title": spec.title}
