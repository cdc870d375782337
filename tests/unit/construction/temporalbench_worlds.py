"""Small annotations of clips, what was measured of them, and a chain of TemporalBench's steps without files."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from reprise.benchmarks.prompts import load_prompts
from reprise.construction.settings import ReviewSettings, TemporalBenchSettings
from reprise.construction.temporalbench.candidates import candidates
from reprise.construction.temporalbench.requests import requests
from reprise.construction.temporalbench.samples import samples
from reprise.construction.temporalbench.tables import SCHEMAS
from reprise.core.schemas import FACTS, RESPONSES, table_of
from reprise.fetch.settings import ReleaseToy

from tests.unit.construction.worlds import ROOT

PROMPTS = load_prompts(ROOT / "resources/prompts/construction/temporalbench.yaml")
Tables = dict[str, pl.DataFrame]
Writer = Callable[[dict[str, Any]], str]
"""a request -> the reply"""


def settings(**changes: Any) -> TemporalBenchSettings:
    needed: dict[str, Any] = {
        "kind": "temporalbench",
        "annotations": ReleaseToy(kind="toyworld"),
        "writer": "toy-writer",
        "prompts": "-",
        "review": ReviewSettings(verdicts="none/*.csv"),
    }
    return TemporalBenchSettings(**needed | changes)


def clip_row(video: str, **changes: Any) -> dict[str, Any]:
    """A clip of ten seconds in the default columns."""
    row = {
        "dataset": "COIN", "split": "test", "video": video, "start": 0, "end": 10, "description": "Somebody cooks.",
        "caption": f"In {video} a man cuts a potato twice, then he sits down.",
    }  # fmt: skip
    return row | changes


def annotated(folder: Path, *rows: dict[str, Any], name: str = "annotations.json") -> dict[str, Path]:
    path = folder / name
    path.write_text(json.dumps(rows))
    return {name: path}


def facts(*clips: tuple[str, int, bool]) -> pl.DataFrame:
    """Clip, shots, whether it is static."""
    rows = [
        {name: None for name in FACTS}
        | {"clip_id": name, "shots": shots, "is_static": static, "motion": 0.5 - 0.5 * static, "duration_s": 10.0}
        for name, shots, static in clips
    ]
    return pl.DataFrame(rows, schema=FACTS)


def as_tables(found: Mapping[str, Sequence[Any]]) -> Tables:
    return {name: table_of(list(rows), SCHEMAS[name]) for name, rows in found.items()}


def replies(asked: Sequence[dict[str, Any]], writer: Writer) -> pl.DataFrame:
    empty = {name: "" for name, kind in RESPONSES.items() if kind == pl.String} | {"scores": []}
    rows = [empty | {"request_id": one["request_id"], "item_id": one["item_id"], "text": writer(one)} for one in asked]
    return pl.DataFrame(rows, schema=RESPONSES)


def written(files: Mapping[str, Path], measured: pl.DataFrame, writer: Writer, how: TemporalBenchSettings) -> Tables:
    """All rounds of a writer, and the samples."""
    here = as_tables(candidates(files, how, measured)._asdict())
    given: list[pl.DataFrame] = []
    for _ in range(how.rounds):
        given.append(replies(requests(here, given, PROMPTS, how), writer))
    return here | as_tables(samples(here, given, PROMPTS, how)._asdict())
