"""Helpers of construction tests: settings, the steps without files, the toy writer, annotators' verdicts."""

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

from tests.unit.requests import spec

ROOT = Path(__file__).parents[2]
SUITE = {
    name: one["construction"] for name, one in load_yaml(ROOT / "config/suites/construction.yaml")["benchmarks"].items()
}
TOY_WRITER, TOY_OTHER_WRITER = (
    TemplateCaptioner(spec(**load_yaml(ROOT / f"config/models/{name}.yaml")["settings"]))
    for name in ("toy-writer", "toy-other-writer")
)
Row = dict[str, Any]
Tables = dict[str, pl.DataFrame]
Files = dict[str, Path]
Writer = Callable[[Row], str]
"""a request -> the reply"""


def settings(kind: str, **changes: Any) -> Any:
    """A construction's settings, the defaults but for these."""
    needed: Row = {"kind": kind, "annotations": {"kind": "toyworld"}, "review": {"verdicts": "none/*.csv"}}
    if kind != "mmbench_video":
        needed |= {"writer": "toy-writer", "prompts": "-"}
    return TypeAdapter(Construction).validate_python(needed | changes)


def of_suite(kind: str, *names: str) -> Any:
    """The settings of these names as the suite has them."""
    return settings(kind, **{name: SUITE[kind][name] for name in names})


@cache
def prompts(kind: str) -> dict[str, Prompt]:
    path = ROOT / f"resources/prompts/construction/{kind}.yaml"
    return load_prompts(path) if path.exists() else {}


def tables(kind: str, found: Mapping[str, Sequence[Any]]) -> Tables:
    return {name: build_table(list(rows), SCHEMAS[kind][name]) for name, rows in found.items()}


def saved(path: Path, content: Any) -> Files:
    """A file of annotations: a csv file's text, or what becomes JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return {path.name: path}


def replies(asked: Sequence[Row], writer: Writer, error: str = "") -> pl.DataFrame:
    empty = {name: "" for name, kind in RESPONSES.items() if kind == pl.String} | {"scores": [], "error": error}
    rows = [empty | {name: one[name] for name in ("request_id", "item_id")} | {"text": writer(one)} for one in asked]
    return pl.DataFrame(rows, schema=RESPONSES)


def toy_writer(asked: Row, writer: TemplateCaptioner = TOY_WRITER) -> str:
    request = Request("r", "i", "1", "write", asked["system"], asked["prompt"], (), "", 2048)
    [answer] = writer.answers(ClipFrames("c", None, (), ()), [request])
    assert not answer.error
    return answer.text


def clip_metadata(*clips: tuple[str, int, bool]) -> pl.DataFrame:
    """Return clip metadata from (clip, shots, whether it is static)."""
    rows = [
        {name: None for name in CLIP_METADATA}
        | {"clip_id": name, "shots": shots, "is_static": static, "motion": 0.5 - 0.5 * static, "duration_s": 10.0}
        for name, shots, static in clips
    ]
    return pl.DataFrame(rows, schema=CLIP_METADATA)


def requests_of(here: Tables, given: Sequence[pl.DataFrame], how: Any, writer: str = "toy-writer") -> list[Row]:
    """The requests of the next round to a writer."""
    named = {"writer": writer} if how.kind == "temporalbench" else {}
    found: list[Row] = load_step(how.kind, "requests")(here, given, prompts(how.kind), how, **named)
    return found


def written(here: Tables, writer: Writer, how: Any, **others: Writer) -> Tables:
    """Run all rounds of the writers; only the requests of the first one depend on replies of others."""
    given: list[pl.DataFrame] = []
    for _ in range(how.rounds if prompts(how.kind) else 0):
        said = []
        for name, one in {"toy-writer": writer, **others}.items():
            seen = [table.filter(writer=name) for table in given] if name in others else given
            said.append(replies(requests_of(here, seen, how, name), one).with_columns(writer=pl.lit(name)))
        given.append(pl.concat(said))
    return here | tables(how.kind, load_step(how.kind, "samples")(here, given, prompts(how.kind), how))


def pool_of(files: Files, how: Any, *measured: pl.DataFrame) -> Tables:
    return tables(how.kind, load_step(how.kind, "candidates")(files, how, *measured))


def review(here: Tables, how: Any, *verdicts: Path) -> ReviewResult:
    done: ReviewResult = load_step(how.kind, "review")(here, list(verdicts), how)
    return done


def reviewed(here: Tables, how: Any, *verdicts: Path) -> Tables:
    """With the review by these files, or by those of the repository."""
    done = review(here, how, *(verdicts or sorted(ROOT.glob(SUITE[how.kind]["review"]["verdicts"]))))
    assert done.problems == []
    return here | tables(how.kind, {"reviewed": done.reviewed, "votes": done.votes})


def verdicts(path: Path, tasks: Sequence[Row], said: str, *people: str) -> Path:
    """Write a file in which these annotators give the same verdict on these tasks."""
    rows = [{name: one[name] for name in ("task_id", "digest")} | {"verdict": said} for one in tasks]
    path.write_text(as_csv([row | {"reviewer": who} for row in rows for who in people], COLUMNS))
    return path


def left(table: pl.DataFrame) -> list[Row]:
    return kept_rows(table).to_dicts()


def names_of(rows: Sequence[Row] | pl.DataFrame) -> list[str]:
    """Return the filter that dropped each row, empty for kept rows."""
    return [row["filter"] for row in (rows.to_dicts() if isinstance(rows, pl.DataFrame) else rows)]


def released(here: Tables, how: Any, folder: Path) -> list[Path]:
    """Write the release, which must not depend on the order of the reviewed rows, and return its files."""
    release = load_step(how.kind, "release")
    files = release(here, how)
    assert files == release({name: table.reverse() for name, table in here.items()}, how)
    for name, text in files.items():
        (folder / name).write_text(text)
    return sorted(folder / name for name in files)


def numbers(here: Tables, how: Any) -> dict[tuple[str, str], tuple[float | None, float | None]]:
    """Return the paper's and the reproduced number by statistic and group, and check the filter counts."""
    counts = filter_counts(here, FILTERS[how.kind])
    assert all(row["entered"] - row["dropped"] == row["left"] for row in counts)
    assert counts[-1]["left"] == kept_rows(here.get("static", here["reviewed"])).height
    rows = load_step(how.kind, "statistics")(here, how)
    return {(row["statistic"], row["group"]): (row["paper"], row["reproduced"]) for row in rows}
