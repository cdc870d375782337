"""Arguments of the commands `eval` and `temporal`."""

from pathlib import Path
from typing import Literal, NamedTuple

from reprise.core.paths import overview_file, temporal_file
from reprise.plan.runs import Plan

Engine = Literal["transformers", "vllm"]


class EvaluationOptions(NamedTuple):
    """Arguments of the commands `eval` and `temporal`."""

    model: str
    benchmarks: str | None = None
    frames: str | None = None
    name: str | None = None
    gpus: int | None = None
    limit: int | None = None
    cores: str = "all"
    dry_run: bool = False
    yes: bool = False
    json_file: Path | None = None
    suite: str | None = None
    engine: Engine | None = None
    no_check: bool = False
    # `eval` makes the model's row of the overview; `temporal` makes its temporal profile.
    command: Literal["eval", "temporal"] = "eval"
    served_model: str | None = None

    def list_targets(self, plan: Plan, slug: str) -> list[str]:
        """Return the files that snakemake makes for a model: its overview, or its profile with the runs' metrics.

        A profile needs no metrics, but without them the runs would be listed as incomplete and could not be published.
        """
        if self.command == "eval":
            return [str(overview_file("md"))]
        metrics = [plan.results.metrics(scored) for scored in plan.temporal_scored_runs([slug])]
        return [str(path) for path in (temporal_file(slug, "md"), *metrics)]
