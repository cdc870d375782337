"""Call a benchmark's modules as the stages call them, from the release to the scores."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from reprise.benchmarks.prompts import Prompt, load_prompts
from reprise.benchmarks.question_forms import build_requests
from reprise.benchmarks.registry import load_questions, load_release, load_scores, load_statistics
from reprise.benchmarks.scoring import Convention, RunAnswers, filter_group
from reprise.core.schemas import CLIP_METADATA, VERDICTS
from reprise.stages.metrics import compute_metrics
from reprise.stages.verdicts import extract_verdicts
from reprise.stats.measures import Measure

from tests.unit.rows import Row, response_table
from tests.unit.rows import request_table as table_of_requests

Numbers = dict[tuple[str, str], Measure]
"""(metric, group) -> number"""


def write_rows(path: Path, *rows: Iterable[object]) -> Path:
    """Write rows to a .csv or .tsv file."""
    with path.open("w", newline="") as stream:
        csv.writer(stream, delimiter="\t" if path.suffix == ".tsv" else ",").writerows(rows)
    return path


class BenchmarkPipeline:
    """The modules of one benchmark."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def prompts(self) -> dict[str, Prompt]:
        return dict(load_prompts(Path(f"resources/prompts/{self.name}.yaml")))

    def annotations(
        self, files: Sequence[Path], clips: Any = "release", options: Mapping[str, object] | None = None
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        return load_release(self.name).read_release(files, clips, options or {}).to_tables()

    def requests(self, items: pl.DataFrame, form: str, prompt: str) -> list[dict[str, Any]]:
        rows = build_requests(
            load_questions(self.name).FORMS[form], items, self.prompts[prompt], "choose", 1
        ).to_dicts()
        return [
            {name: value for name, value in row.items() if name not in ("request_type", "max_tokens")} for row in rows
        ]

    def numbers(
        self, form: str, items: pl.DataFrame, verdicts: Any, convention: Convention = "fixed", level: float = 0.95
    ) -> Numbers:
        """Return the numbers of the stage `metrics` for a table of verdicts or for its rows."""
        table = pl.DataFrame(verdicts, schema=VERDICTS)
        measures = compute_metrics(load_scores(self.name), form, items, table, level, convention)
        return {(measure.metric, measure.group): measure for measure in measures}

    def read(
        self,
        items: pl.DataFrame,
        form: str,
        prompt: str,
        request_type: str,
        respond: Callable[[Row], Row | None],
        extractor: str = "robust",
    ) -> pl.DataFrame:
        """Return verdicts on the responses to each request; none for requests without a response."""
        requests = table_of_requests(self.requests(items, form, prompt), request_type)
        rule = {"choose": "first_character", "write": "text"}.get(request_type, "plain")
        return extract_verdicts(requests, response_table(requests, respond), extractor, rule)

    def outcomes(self, form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, pl.DataFrame]:
        return load_scores(self.name).SCORES[form].compute_outcomes(RunAnswers(items, verdicts))

    def statistics(self, items: pl.DataFrame, clips: pl.DataFrame) -> dict[tuple[str, str], float]:
        statistics = load_statistics(self.name).compute_from_items(items, clips)
        return {(metric, group): value for metric, group, value in statistics}

    def video_statistics(
        self, items: pl.DataFrame, metadata_rows: Sequence[Mapping[str, Any]]
    ) -> dict[tuple[str, str], float]:
        compute = load_statistics(self.name).compute_from_metadata
        assert compute is not None
        return {
            (metric, group): value
            for metric, group, value in compute(items, pl.DataFrame(metadata_rows, schema=CLIP_METADATA))
        }

    def in_group(self, items: pl.DataFrame, group: str) -> pl.DataFrame:
        return filter_group(items, group, load_scores(self.name).GROUPS)
