"""Helpers of construction tests: settings, steps that need no result files, the toy writer, annotators' verdicts."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from construction.filters import filter_counts, kept_rows
from construction.registry import load_step
from construction.review import ReviewResult
from construction.settings import Construction
from construction.tables import FILTERS, SCHEMAS
from human_evaluation.tasks import COLUMNS, as_csv
from pydantic import TypeAdapter
from reprise.benchmarks.prompts import Prompt, load_prompts
from reprise.core.schemas import CLIP_METADATA, RESPONSES, build_table
from reprise.core.yaml_files import load_yaml
from reprise.models.base import ClipFrames, Request
from reprise.models.local.baselines.templates import TemplateCaptioner

from tests.unit.requests import model_spec

ROOT = Path(__file__).parents[2]
SUITE = {
    name: entry["construction"]
    for name, entry in load_yaml(ROOT / "config/suites/construction.yaml")["benchmarks"].items()
}
TOY_WRITER, TOY_OTHER_WRITER = (
    TemplateCaptioner(model_spec(**load_yaml(ROOT / f"config/models/{name}.yaml")["settings"]))
    for name in ("toy-writer", "toy-other-writer")
)
Row = dict[str, Any]
Tables = dict[str, pl.DataFrame]
Files = dict[str, Path]
Writer = Callable[[Row], str]
"""A function from a request to the writer's reply."""


def construction_settings(kind: str, **changes: Any) -> Any:
    """Return the settings of a construction: the defaults with some changes."""
    needed: Row = {"kind": kind, "annotations": {"kind": "toyworld"}, "review": {"verdicts": "none/*.csv"}}
    if kind != "mmbench_video":
        needed |= {"writer": "toy-writer", "prompts": "-"}
    return TypeAdapter(Construction).validate_python(needed | changes)


def suite_settings(kind: str, *names: str) -> Any:
    """Return a construction's settings with the suite's values of the named keys."""
    return construction_settings(kind, **{name: SUITE[kind][name] for name in names})


@cache
def prompts(kind: str) -> dict[str, Prompt]:
    path = ROOT / f"resources/prompts/construction/{kind}.yaml"
    return load_prompts(path) if path.exists() else {}


def build_tables(kind: str, rows_by_name: Mapping[str, Sequence[Any]]) -> Tables:
    return {name: build_table(list(rows), SCHEMAS[kind][name]) for name, rows in rows_by_name.items()}


def write_annotations(path: Path, content: Any) -> Files:
    """Write an annotation file: a text as it is, other content as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return {path.name: path}


def replies(requests: Sequence[Row], writer: Writer, error: str = "") -> pl.DataFrame:
    empty = {name: "" for name, kind in RESPONSES.items() if kind == pl.String} | {"scores": [], "error": error}
    rows = [
        empty | {name: request[name] for name in ("request_id", "item_id")} | {"text": writer(request)}
        for request in requests
    ]
    return pl.DataFrame(rows, schema=RESPONSES)


def toy_writer(row: Row, writer: TemplateCaptioner = TOY_WRITER) -> str:
    request = Request("r", "i", "1", "write", row["system"], row["prompt"], (), "", 2048)
    [answer] = writer.answers(ClipFrames("c", None, (), ()), [request])
    assert not answer.error
    return answer.text


def clip_metadata(*clips: tuple[str, int, bool]) -> pl.DataFrame:
    """Return clip metadata from (clip, shots, whether it is static)."""
    rows = [
        {column: None for column in CLIP_METADATA}
        | {
            "clip_id": clip_id,
            "shots": shots,
            "is_static": is_static,
            "motion": 0.5 - 0.5 * is_static,
            "duration_s": 10.0,
        }
        for clip_id, shots, is_static in clips
    ]
    return pl.DataFrame(rows, schema=CLIP_METADATA)


def requests_of(
    tables: Tables, reply_tables: Sequence[pl.DataFrame], settings: Any, writer: str = "toy-writer"
) -> list[Row]:
    """Return the requests of the next round to a writer."""
    options = {"writer": writer} if settings.kind == "temporalbench" else {}
    requests: list[Row] = load_step(settings.kind, "requests")(
        tables, reply_tables, prompts(settings.kind), settings, **options
    )
    return requests


def run_rounds(tables: Tables, writer: Writer, settings: Any, **others: Writer) -> Tables:
    """Run all rounds of the writers; only the first writer's requests depend on other writers' replies."""
    rounds: list[pl.DataFrame] = []
    for _ in range(settings.rounds if prompts(settings.kind) else 0):
        round_replies = []
        for name, reply in {"toy-writer": writer, **others}.items():
            writer_rounds = [table.filter(writer=name) for table in rounds] if name in others else rounds
            round_replies.append(
                replies(requests_of(tables, writer_rounds, settings, name), reply).with_columns(writer=pl.lit(name))
            )
        rounds.append(pl.concat(round_replies))
    return tables | build_tables(
        settings.kind, load_step(settings.kind, "samples")(tables, rounds, prompts(settings.kind), settings)
    )


def collect_pool(files: Files, settings: Any, *measured: pl.DataFrame) -> Tables:
    return build_tables(settings.kind, load_step(settings.kind, "candidates")(files, settings, *measured))


def review(tables: Tables, settings: Any, *verdict_files: Path) -> ReviewResult:
    result: ReviewResult = load_step(settings.kind, "review")(tables, list(verdict_files), settings)
    return result


def run_review(tables: Tables, settings: Any, *verdict_files: Path) -> Tables:
    """Add the tables of a review by these verdict files, by default those of the repository."""
    result = review(tables, settings, *(verdict_files or sorted(ROOT.glob(SUITE[settings.kind]["review"]["verdicts"]))))
    assert result.problems == []
    return tables | build_tables(settings.kind, {"reviewed": result.reviewed, "votes": result.votes})


def write_verdicts(path: Path, tasks: Sequence[Row], verdict: str, *reviewers: str) -> Path:
    """Write a file in which all annotators give the same verdict on all tasks."""
    rows = [{name: task[name] for name in ("task_id", "digest")} | {"verdict": verdict} for task in tasks]
    path.write_text(as_csv([row | {"reviewer": reviewer} for row in rows for reviewer in reviewers], COLUMNS))
    return path


def kept_dicts(table: pl.DataFrame) -> list[Row]:
    return kept_rows(table).to_dicts()


def filter_names(rows: Sequence[Row] | pl.DataFrame) -> list[str]:
    """Return the filter that dropped each row, empty for kept rows."""
    return [row["filter"] for row in (rows.to_dicts() if isinstance(rows, pl.DataFrame) else rows)]


def write_release_files(tables: Tables, settings: Any, folder: Path) -> list[Path]:
    """Write the release and return its files. Check that it does not depend on the order of the reviewed rows."""
    release = load_step(settings.kind, "release")
    files = release(tables, settings)
    assert files == release({name: table.reverse() for name, table in tables.items()}, settings)
    for name, text in files.items():
        (folder / name).write_text(text)
    return sorted(folder / name for name in files)


def statistics_by_group(tables: Tables, settings: Any) -> dict[tuple[str, str], tuple[float | None, float | None]]:
    """Return the paper's and the reproduced value by statistic and group. Check the filter counts."""
    counts = filter_counts(tables, FILTERS[settings.kind])
    assert all(row["entered"] - row["dropped"] == row["left"] for row in counts)
    assert counts[-1]["left"] == kept_rows(tables.get("static", tables["reviewed"])).height
    rows = load_step(settings.kind, "statistics")(tables, settings)
    return {(row["statistic"], row["group"]): (row["paper"], row["reproduced"]) for row in rows}
