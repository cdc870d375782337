"""Write the results of a small suite: three items of VELOCITI about two clips, and runs of two models."""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
from reprise.core.files import write_text
from reprise.core.paths import Results
from reprise.core.provenance import Provenance, record_provenance
from reprise.core.schemas import (
    CLIP_MANIFEST,
    CLIP_METADATA,
    FRAME_PLAN,
    ITEMS,
    METRICS,
    REQUESTS,
    RESPONSES,
    TIMINGS,
    VERDICTS,
    write_table,
)
from reprise.core.settings import Settings
from reprise.core.store import Store
from reprise.models.keys import RunKey
from reprise.report.build import build
from reprise.report.keys import ReportedRun, ReportedTable, ReportKey

from tests.unit.rows import Row, item_row, request_row, response_row, verdict_row

RUN = "velociti/entail/fps1/one"
OTHER_RUN = "velociti/entail/fps1/two"
CAPTION = "A man runs."
TEXTS = [{"name": "positive", "text": CAPTION}]
INITIAL_ITEMS = [
    item_row("a", clip_id="c1", cluster="u1", task="agent_bind", groups=["subset"], texts=TEXTS),
    item_row("b", clip_id="c2", cluster="u2", task="coref"),
    item_row("c", clip_id="c2", cluster="u2", task="coref"),
]


def make_requests(item_id: str, clip_id: str) -> list[Row]:
    """Return both requests about an item."""
    fields = {"clip_id": clip_id, "request_type": "score", "prompt": "Does it fit?"}
    return [
        request_row(f"{item_id}#pos", expected="Yes", **fields),
        request_row(f"{item_id}#neg", expected="No", **fields),
    ]


def make_responses(item: str, *scores: float) -> list[Row]:
    """Return responses with the scores of Yes for both requests."""
    pairs = zip(("pos", "neg"), scores, strict=True)
    return [response_row(f"{item}#{role}", scores=[score, 1 - score]) for role, score in pairs]


def make_verdicts(item: str, *scores: float, **changes: Any) -> list[Row]:
    """Return the verdicts on responses with these scores of Yes."""
    rows = []
    for role, score in zip(("pos", "neg"), scores, strict=True):
        option = "Yes" if score > 0.5 else "No"
        rows.append(
            verdict_row(f"{item}#{role}", option, score=score, right=(option == "Yes") == (role == "pos"), **changes)
        )
    return rows


def make_run_tables(*scores: tuple[float, float]) -> tuple[list[Row], list[Row], list[Row]]:
    """Return a run's tables from the scores of both captions of a, b and c."""
    rows = [
        row for item, make_requests in zip("abc", scores, strict=True) for row in make_responses(item, *make_requests)
    ]
    verdicts = [
        row for item, make_requests in zip("abc", scores, strict=True) for row in make_verdicts(item, *make_requests)
    ]
    return rows, verdicts, verdicts


COUNTS = dict.fromkeys(("requested", "scored", "failed", "unparsed", "missing"), 1)


def make_metric(name: str, group: str, value: float | None) -> Row:
    row = {"run": RUN, "metric": name, "group": group, "value": value, "convention": "fixed", "extractor": "robust"}
    return row | COUNTS


def run_settings(name: str) -> Settings:
    return RunKey.model_validate({"run": name, "key": "k", "answers": {"adapter": "random", "sampling": {}}})


class World:
    """The files of a suite and its report."""

    def __init__(self, folder: Path) -> None:
        self.root, self.results, self.store = folder / "report", Results("small", folder / "results"), folder / "store"
        self.items, self.requests = (
            deepcopy(INITIAL_ITEMS),
            [*make_requests("a", "c1"), *make_requests("b", "c2"), *make_requests("c", "c2")],
        )
        self.clips = [make_clip("c1", "ok", "clips/aa/aa.mp4"), make_clip("c2", "gone", message="<b>No such video</b>")]
        self.runs: dict[str, tuple[Sequence[Row], Sequence[Row], Sequence[Row]]] = {
            RUN: (make_responses("a", 0.9, 0.4), make_verdicts("a", 0.9, 0.4), make_verdicts("a", 0.9, 0.4))
        }
        self.plans: list[Row] = [{"clip_id": "c1", "indices": [12, 36], "times_s": [0.5, 1.5], "note": ""}]
        self.plans_by_sampling: dict[str, list[Row]] = {}
        """sampling -> its frame plans, if they differ from `plans`"""
        self.key_changes: dict[str, Any] = {}
        self.metrics: list[Mapping[str, Any]] = []
        self.metrics_by_run: dict[str, list[Mapping[str, Any]]] = {}
        """metrics of a run, if they are not those of all runs"""
        self.tables: tuple[ReportedTable, ...] = ()
        self.figures: tuple[str, ...] = ()
        self.is_baseline = False
        self.headline: dict[str, Any] | None = None
        self.is_recorded = False
        """whether items and metrics record their provenance"""
        self.settings: dict[str, Settings] = {}
        """settings of tables and figures, by name"""
        self.ablations: dict[str, dict[str, str]] = {}
        """run -> temporal ablation -> the run with that ablation"""

    def build(self) -> None:
        """Write the tables and build the report."""
        results = self.results
        metadata = [{"clip_id": "c1", "duration_s": 2.0, "frames": 48, "fps": 24.0}]
        with record_provenance(Provenance("annotations" if self.is_recorded else "")):
            self._write(self.items, results.items("velociti"), ITEMS)
        self._write(self.requests, results.requests("velociti", "entail"), REQUESTS)
        self._write(self.clips, results.manifest("clips", "velociti", 0), CLIP_MANIFEST)
        self._write(metadata, results.clip_metadata("velociti"), CLIP_METADATA)
        for sampling in {name.split("/")[2] for name in self.runs}:
            plans = self.plans_by_sampling.get(sampling, self.plans)
            self._write(plans, results.frames("velociti", sampling), FRAME_PLAN)
        for name in self.runs:
            self._write_run(name)
        write_text(results.folder / "sources" / "missing.md", "# Missing videos\n")
        settings = {name: run_settings(name) for name in self.runs} | self.settings
        build(self.key, results, Store(self.store), self.root, settings)

    @staticmethod
    def _write(rows: Sequence[Mapping[str, Any]], path: Path, schema: pl.Schema) -> None:
        write_table(pl.DataFrame(rows, schema=schema), path, schema)

    @property
    def key(self) -> ReportKey:
        runs = [
            {"run": name, "label": name.rpartition("/")[2], "reference": self.is_baseline, "ablations": self.ablations.get(name, {})}
            for name in self.runs
        ]  # fmt: skip
        entry = {"name": "velociti", "title": "VELOCITI", "has_clips": True, "runs": runs, "tables": self.tables}
        entry |= {"headline": self.headline, "figures": self.figures}
        suite = {"suite": "small", "suite_title": "Small", "clips": "link", "shards": 1}
        options = {"show_published": False, "overview": False, "benchmarks": [entry | {"forms": {"entail": "entail"}}]}
        return ReportKey.model_validate(suite | options | self.key_changes)

    def _write_run(self, name: str) -> None:
        scored = ReportedRun(run=name, label="").scored
        responses, robust, authors = self.runs[name]
        self._write(responses, self.results.responses(scored.run), RESPONSES)
        self._write(robust, self.results.verdicts(scored.run, "robust"), VERDICTS)
        self._write(authors, self.results.verdicts(scored.run, "authors"), VERDICTS)
        items = self.results.items("velociti").relative_to(self.results.root.parent)
        with record_provenance(Provenance("metrics", inputs={str(items): "ab"}) if self.is_recorded else Provenance()):
            self._write(self.metrics_by_run.get(name, self.metrics), self.results.metrics(scored), METRICS)
        self._write([], self.results.timings(scored.run), TIMINGS)

    def data(self, name: str) -> Any:
        """Return the value of a data file."""
        text = (self.root / "data" / f"{name}.js").read_text(encoding="utf-8")
        start = f'reprise.put("{name}", '
        assert text.startswith(start) and text.endswith(");\n"), text[:80]
        return json.loads(text.removeprefix(start).removesuffix(");\n"))

    def files(self) -> dict[str, bytes]:
        """Return every file of the report by name."""
        paths = (path for path in self.root.rglob("*") if path.is_file())
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in paths}


def make_clip(name: str, status: str, store_path: str = "", message: str = "") -> Row:
    """Return a clip's row of the manifest."""
    row = {"clip_id": name, "cluster": name, "status": status, "object": store_path, "message": message}
    return row | {"recipe": "", "sha256": "", "bytes": 0, "black_start": None, "black_end": None}
