"""Benchmark the report at full size: CPU seconds and peak memory to build it for 22,000 items and 40 models.

`python -m bench.report FOLDER` keeps the report in `FOLDER/results/report` for inspection in a browser.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from reprise.benchmarks.registry import load_release
from reprise.core.files import write_text
from reprise.core.paths import Results, Run, ScoredRun, judge_settings_name, report_files
from reprise.core.schemas import CLIP_MANIFEST, CLIP_METADATA, CLIPS, FRAME_PLAN, ITEMS, TIMINGS, write_table
from reprise.core.settings import Settings
from reprise.core.store import Store
from reprise.models.keys import RunKey
from reprise.report.build import build as write_report
from reprise.report.inputs import get_extractor_names
from reprise.report.keys import ReportedBenchmark, ReportedRun, ReportKey

from bench import synthetic
from bench.rounds import Ratio
from bench.scoring import WORKLOADS, ScoringSetup, StageCost, Workload, measure_cost

MODELS, STYLES = 40, 4
"""Number of models, and of different answer styles among them."""
MAX_SECONDS, MAX_MB = 180.0, 2000.0
KEY = "report-settings.json"  # File with the settings of the report, and argument of the process that builds it.
SUITE, SAMPLING, JUDGE = "full", "linspace8", "judge"
TIMES = [0.6, 1.8, 3.0, 4.2, 5.4, 6.6, 7.8, 9.0]  # Times of the eight frames of a clip, in seconds.


def main() -> None:
    """Build one report, and print its cost."""
    match sys.argv[1:]:
        case [name] if name == KEY:
            return build_in(Path())
        case [folder]:
            cost = build(Path(folder))
        case _:
            raise SystemExit("usage: python -m bench.report FOLDER")
    print(f"{cost.seconds:.1f} CPU s, {cost.peak_mb:.0f} MB at most: {cost.workload}")


def ratios(folder: Path) -> Iterator[Ratio]:
    """Yield the cost of building the report."""
    cost = build(folder / "report")
    yield Ratio(f"CPU seconds of the report: {cost.workload}", cost.seconds, MAX_SECONDS)
    yield Ratio("MB at most of building the report", cost.peak_mb, MAX_MB)


def build(folder: Path, models: int = MODELS) -> StageCost:
    """Write the tables of all runs, and build the report from them."""
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(SUITE, folder / "results")
    items = {
        name: _write_data(folder, name, results) for name in dict.fromkeys(workload.benchmark for workload in WORKLOADS)
    }
    runs = [
        run for workload in WORKLOADS for run in _runs(folder, workload, items[workload.benchmark], results, models)
    ]
    write_text(results.folder / "sources" / "missing.md", "# Missing videos\n")
    key = ReportKey(
        suite=SUITE,
        suite_title="Full size",
        clips="link",
        shards=1,
        show_published=False,
        overview=False,
        benchmarks=tuple(_reported_benchmark(name, runs) for name in items),
    )
    (folder / KEY).write_text(key.model_dump_json(), encoding="utf-8")
    description = f"{sum(count_items(path) for path in items.values())} items, {models} models"
    return measure_cost("report", description, [sys.executable, "-m", "bench.report", KEY], folder)


def build_in(folder: Path) -> None:
    """Build the report in this process, as the stage does with the settings of a suite."""
    key = ReportKey.model_validate_json((folder / KEY).read_bytes())
    answers = {"adapter": "random", "sampling": {}}
    settings: dict[str, Settings] = {}
    for reported in key.runs():
        run = reported.scored.run
        settings[run.name] = RunKey.model_validate({"run": run.name, "key": "k", "answers": answers})
        if reported.judge:
            settings[judge_settings_name(run.benchmark, run.protocol, reported.judge)] = settings[run.name]
    write_report(key, Results(SUITE), Store(folder / "store"), report_files()[0].parent, settings)


def count_items(path: Path) -> int:
    """Return the number of items in a table."""
    return int(pl.scan_parquet(path).select(pl.len()).collect().item())


def _reported_benchmark(name: str, runs: list[ReportedRun]) -> ReportedBenchmark:
    """Return a benchmark's settings of the report, with its runs."""
    forms = {workload.protocol: _form(workload) for workload in WORKLOADS if workload.benchmark == name}
    benchmark_runs = tuple(run for run in runs if run.scored.run.benchmark == name)
    return ReportedBenchmark(name=name, title=name, has_clips=True, forms=forms, runs=benchmark_runs)


def _form(workload: Workload) -> str:
    """Return the form of question of a protocol; in these benchmarks most forms are named like the protocol."""
    return {"paper": "questions"}.get(workload.protocol, workload.protocol)


def _write_data(folder: Path, benchmark: str, results: Results) -> Path:
    """Write the items of a release, and its clips with every tenth one missing; return the path of the items."""
    release = getattr(synthetic, f"{benchmark}_release")
    clips, items = load_release(benchmark).read_release(release(folder), "release", {}).to_tables()
    write_table(items, results.items(benchmark), ITEMS)
    names = clips.cast(dict(CLIPS))["clip_id"].to_list()
    manifest = [
        {
            "clip_id": name,
            "cluster": name,
            "status": "gone" if number % 10 == 9 else "ok",
            "object": f"clips/{number}.mp4",
        }
        | {"recipe": "", "sha256": "", "bytes": 1, "message": "No such video."}
        for number, name in enumerate(names)
    ]
    write_table(pl.DataFrame(manifest, schema=CLIP_MANIFEST), results.manifest("clips", benchmark, 0), CLIP_MANIFEST)
    clip_metadata = [{"clip_id": name, "duration_s": 9.6, "frames": 240, "fps": 25.0} for name in names]
    write_table(pl.DataFrame(clip_metadata, schema=CLIP_METADATA), results.clip_metadata(benchmark), CLIP_METADATA)
    frames = [{"clip_id": name, "indices": list(range(8)), "times_s": TIMES, "note": ""} for name in names]
    write_table(pl.DataFrame(frames, schema=FRAME_PLAN), results.frames(benchmark, SAMPLING), FRAME_PLAN)
    return results.items(benchmark)


def _runs(folder: Path, workload: Workload, items: Path, results: Results, models: int) -> Iterator[ReportedRun]:
    """Yield runs whose tables the real stages have written; models with the same answer style share them."""
    setup = ScoringSetup(folder, workload, items)
    _link(setup.path("requests"), results.requests(workload.benchmark, workload.protocol))
    for style in range(min(STYLES, models)):
        for _ in setup.score(style):
            pass
        for model in range(style, models, STYLES):
            run = ReportedRun(
                run=f"{workload.benchmark}/{workload.protocol}/{SAMPLING}/model-{model:02d}",
                judge=JUDGE if setup.is_judged else "",
                label=f"Model {model}",
            )
            _link_run(run, setup, f"metrics{style}", results)
            yield run


def _link_run(run: ReportedRun, setup: ScoringSetup, metrics: str, results: Results) -> None:
    """Link the tables of an answer style to the paths of a run's results; `metrics` names its table of metrics."""
    run_name: Run = run.scored.run
    _link(setup.path("responses"), results.responses(run_name))
    for name, extractor in zip(("robust", "authors"), get_extractor_names(run), strict=True):
        _link(setup.path(name), results.verdicts(run_name, extractor))
    _link(setup.path(metrics), results.metrics(ScoredRun(run_name, run.judge)))
    if run.judge:
        _link(setup.path("judge_responses"), results.judge_responses(run_name, run.judge))
    write_table(pl.DataFrame(schema=TIMINGS), results.timings(run_name), TIMINGS)


def _link(source: Path, target: Path) -> None:
    """Make `target` a hard link to `source`, which takes no disk space."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    os.link(source, target)


if __name__ == "__main__":
    main()
