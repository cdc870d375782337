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
# Stage -> the folder of its results, and the columns with computed values, without paths, digests and times.
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
DIGITS = 2  # Probabilities differ between processors in their last bits.


def code_versions() -> dict[str, int]:
    """Return the version of each stage, benchmark, adapter and synthetic world."""
    benchmarks = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / "config/benchmarks").glob("*.yaml")}
    versions_by_name = {f"stage {name}": version for name, version in versions.STAGE_VERSIONS.items()}
    versions_by_name |= {f"benchmark {name}": spec.get("version", 1) for name, spec in benchmarks.items()}
    versions_by_name |= {f"adapter {name}": info.version for name, info in ADAPTERS.items()}
    versions_by_name |= {f"world {name}": plugin.version for name, plugin in PLUGINS.items()}
    return dict(sorted({**versions_by_name, "decoder": versions.DECODER_VERSION}.items()))


def numbers() -> dict[str, dict[str, str]]:
    """Return stage -> result -> digest of the computed values, in the order of the stages."""
    digests = {
        stage: {
            path.relative_to(RESULTS / "demo" / folder).with_suffix("").as_posix(): _table_digest(path, columns)
            for path in sorted((RESULTS / "demo" / folder).rglob("*.parquet"))
            if ".timings" not in path.name
        }
        for stage, (folder, columns) in TABLES.items()
    }
    tables = sorted((RESULTS / "tables").rglob("*.csv"))
    return digests | {"table": {path.relative_to(RESULTS / "tables").as_posix(): _csv_digest(path) for path in tables}}


def _table_digest(path: Path, columns: tuple[str, ...]) -> str:
    frame = pl.read_parquet(path)
    return _digest(frame.select([name for name in columns if name in frame.columns]).rows())


def _csv_digest(path: Path) -> str:
    with path.open(encoding="utf-8") as stream:
        csv_rows = [
            row for row in csv.DictReader(stream) if not row.get("metric", "").startswith("seconds")
        ]  # durations
        rows = [[row.get(name) for name in ("row", "column", "convention", "value")] for row in csv_rows]
    return _digest([[*cells, round(float(value), DIGITS) if value else ""] for *cells, value in rows])


def _digest(rows: Any) -> str:
    return value_digest(sorted(map(str, _rounded(rows))))[:12]


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value


def candidates(stage: str, name: str) -> list[str]:
    """Return the names of the versions that can explain a changed result, the most likely first."""
    benchmark, *run_parts = name.split("/")
    version_names = [f"stage {stage}"]
    if (ROOT / f"config/benchmarks/{benchmark}.yaml").is_file() and stage not in (
        "clip_metadata",
        "frames",
        "infer",
        "verdicts",
    ):
        version_names.append(f"benchmark {benchmark}")
    if stage == "infer":
        model = yaml.safe_load((ROOT / f"config/models/{run_parts[2]}.yaml").read_text(encoding="utf-8"))
        version_names += [f"adapter {model['adapter']}", "decoder"]
    if stage == "annotations":
        version_names += ["stage release", *(f"world {name}" for name in PLUGINS)]
    if stage == "clip_metadata":
        version_names += ["stage sources", "stage clips", *(f"world {name}" for name in PLUGINS)]
    if stage == "verdicts":
        version_names += ["stage judgements", "stage judge_requests"]
    if stage == "table":
        version_names += ["stage collected_table", "stage overview", "stage data_statistics"]
    return version_names


def differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each differing result with its stage, earliest stage first."""
    for stage in (*TABLES, "table"):
        old_digests, new_digests = before.get(stage, {}), after.get(stage, {})
        yield from (
            (stage, name)
            for name in sorted(old_digests.keys() | new_digests.keys())
            if old_digests.get(name) != new_digests.get(name)
        )


if __name__ == "__main__":
    record = {"versions": code_versions(), "numbers": numbers()}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
