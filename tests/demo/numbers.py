"""Record the demo's numbers stage by stage: `python -m tests.demo.numbers` after `make demo`.

`test_versions.py` compares them with the versions of the code that computed them.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import yaml
from reprise.core.files import value_digest
from reprise.fetch.plugins import PLUGINS
from reprise.models.adapters import ADAPTERS
from reprise.plan import versions

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "tests/data/demo_numbers.json"
RESULTS = ROOT / "results"
# Stage -> the folder of its results, and the columns that hold what it computes, without paths, digests and times.
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "annotations": (
        "annotations",
        ("clip_id", "kind", "source_id", "start_s", "end_s", "item_id", "task", "texts", "answer", "groups"),
    ),
    "requests": ("requests", ("request_id", "system", "prompt", "options", "expected", "max_tokens")),
    "clip_metadata": ("clip_metadata", ("clip_id", "frames", "fps", "width", "height", "shots")),
    "frames": ("frames", ("clip_id", "indices", "times_s", "shown_clip")),
    "infer": ("responses", ("request_id", "text", "scores", "frames_shown", "error")),
    "verdicts": ("verdicts", ("request_id", "value", "extracted_by", "right", "unparsed", "failed")),
    "metrics": (
        "metrics",
        (
            "metric",
            "group",
            "convention",
            "extractor",
            "value",
            "low",
            "high",
            "requested",
            "scored",
            "failed",
            "unparsed",
        ),
    ),
}
DIGITS = 2  # processors differ in the last bits of a probability


def code_versions() -> dict[str, int]:
    """The version of every stage, benchmark, adapter and synthetic world."""
    benchmarks = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / "config/benchmarks").glob("*.yaml")}
    found = {f"stage {name}": version for name, version in versions.STAGE_VERSIONS.items()}
    found |= {f"benchmark {name}": spec.get("version", 1) for name, spec in benchmarks.items()}
    found |= {f"adapter {name}": info.version for name, info in ADAPTERS.items()}
    found |= {f"world {name}": plugin.version for name, plugin in PLUGINS.items()}
    return dict(sorted({**found, "decoder": versions.DECODER_VERSION}.items()))


def numbers() -> dict[str, dict[str, str]]:
    """Stage -> result -> a digest of what the stage computed, in the order of the stages."""
    found = {
        stage: {
            path.relative_to(RESULTS / "demo" / folder).with_suffix("").as_posix(): _table_digest(path, columns)
            for path in sorted((RESULTS / "demo" / folder).rglob("*.parquet"))
            if ".timings" not in path.name
        }
        for stage, (folder, columns) in TABLES.items()
    }
    tables = sorted((RESULTS / "tables").rglob("*.csv"))
    return found | {"table": {path.relative_to(RESULTS / "tables").as_posix(): _csv_digest(path) for path in tables}}


def _table_digest(path: Path, columns: tuple[str, ...]) -> str:
    frame = pl.read_parquet(path)
    return _digest(frame.select([name for name in columns if name in frame.columns]).rows())


def _csv_digest(path: Path) -> str:
    with path.open(encoding="utf-8") as stream:
        read = [row for row in csv.DictReader(stream) if not row.get("metric", "").startswith("seconds")]  # a clock's
        rows = [[row.get(name) for name in ("row", "column", "convention", "value")] for row in read]
    return _digest([[*cells, round(float(value), DIGITS) if value else ""] for *cells, value in rows])


def _digest(rows: Any) -> str:
    return value_digest(sorted(map(str, _rounded(rows))))[:12]


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value


def candidates(stage: str, name: str) -> list[str]:
    """Return the versions of what computes a result, from the nearest on."""
    first, *rest = name.split("/")
    found = [f"stage {stage}"]
    if (ROOT / f"config/benchmarks/{first}.yaml").is_file() and stage not in (
        "clip_metadata",
        "frames",
        "infer",
        "verdicts",
    ):
        found.append(f"benchmark {first}")
    if stage == "infer":
        model = yaml.safe_load((ROOT / f"config/models/{rest[2]}.yaml").read_text(encoding="utf-8"))
        found += [f"adapter {model['adapter']}", "decoder"]
    if stage == "annotations":
        found += ["stage release", *(f"world {name}" for name in PLUGINS)]
    if stage == "clip_metadata":
        found += ["stage sources", "stage clips", *(f"world {name}" for name in PLUGINS)]
    if stage == "verdicts":
        found += ["stage judgements", "stage judge_requests"]
    if stage == "table":
        found += ["stage collected_table", "stage overview", "stage data_statistics"]
    return found


def differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each stage and result that differs, earliest stage first."""
    for stage in (*TABLES, "table"):
        old, new = before.get(stage, {}), after.get(stage, {})
        yield from ((stage, name) for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name))


if __name__ == "__main__":
    record = {"versions": code_versions(), "numbers": numbers()}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
