"""What the report costs at full size: CPU seconds and peak memory of building it of 22,000 items and 40 models.

`python -m bench.report FOLDER` leaves the report in `FOLDER/results/report`, to be looked at or measured in a browser.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from reprise.benchmarks.registry import load_release
from reprise.core.files import write_text
from reprise.core.paths import Results, Run, Scored, report_files
from reprise.core.schemas import CLIP_LEDGER, CLIPS, FACTS, FRAME_PLAN, ITEMS, TIMINGS, write_table
from reprise.core.settings import Settings
from reprise.core.store import Store
from reprise.models.keys import RunKey
from reprise.report.build import build as write_report
from reprise.report.inputs import readers_of
from reprise.report.keys import ReportedBenchmark, ReportedRun, ReportKey

from bench import synthetic
from bench.rounds import Ratio
from bench.scoring import ASKED, Asked, Setting, Spent, spent

MODELS, WAYS = 40, 4
"""models, and different ways to answer among them"""
MOST_SECONDS, MOST_MB = 180.0, 2000.0
KEY = "report-settings.json"
SUITE, SAMPLING, JUDGE = "full", "linspace8", "judge"
TIMES = [0.6, 1.8, 3.0, 4.2, 5.4, 6.6, 7.8, 9.0]


def main() -> None:
    """Build one, and print what it took."""
    match sys.argv[1:]:
        case [name] if name == KEY:
            return build_in(Path())
        case [folder]:
            took = build(Path(folder))
        case _:
            raise SystemExit("usage: python -m bench.report FOLDER")
    print(f"{took.seconds:.1f} CPU s, {took.peak_mb:.0f} MB at most: {took.asked}")


def ratios(folder: Path) -> Iterator[Ratio]:
    """What building it takes."""
    took = build(folder / "report")
    yield Ratio(f"CPU seconds of the report: {took.asked}", took.seconds, MOST_SECONDS)
    yield Ratio("MB at most of building the report", took.peak_mb, MOST_MB)


def build(folder: Path, models: int = MODELS) -> Spent:
    """Make the tables of all runs, and build the report of them."""
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(SUITE, folder / "results")
    items = {name: _data(folder, name, results) for name in dict.fromkeys(asked.benchmark for asked in ASKED)}
    runs = [run for asked in ASKED for run in _runs(folder, asked, items[asked.benchmark], results, models)]
    write_text(results.folder / "sources" / "missing.md", "# Missing videos\n")
    key = ReportKey(
        suite=SUITE,
        suite_title="Full size",
        clips="link",
        shards=1,
        show_published=False,
        overview=False,
        benchmarks=tuple(_reported(name, runs) for name in items),
    )
    (folder / KEY).write_text(key.model_dump_json(), encoding="utf-8")
    asked_of = f"{sum(items_of(path) for path in items.values())} items, {models} models"
    return spent("report", asked_of, [sys.executable, "-m", "bench.report", KEY], folder)


def build_in(folder: Path) -> None:
    """Build the report in a process of its own, as the stage does with the settings of a suite."""
    key = ReportKey.model_validate_json((folder / KEY).read_bytes())
    answers = {"adapter": "random", "sampling": {}}
    made_with: dict[str, Settings] = {
        run.run: RunKey.model_validate({"run": run.run, "key": "k", "answers": answers}) for run in key.runs()
    }
    write_report(key, Results(SUITE), Store(folder / "store"), report_files()[0].parent, made_with)


def items_of(path: Path) -> int:
    """How many items a table has."""
    return int(pl.scan_parquet(path).select(pl.len()).collect().item())


def _reported(name: str, runs: list[ReportedRun]) -> ReportedBenchmark:
    forms = {asked.protocol: _form(asked) for asked in ASKED if asked.benchmark == name}
    mine = tuple(run for run in runs if run.scored.run.benchmark == name)
    return ReportedBenchmark(name=name, title=name, has_clips=True, forms=forms, runs=mine)


def _form(asked: Asked) -> str:
    """The form of question of a protocol of these benchmarks, most of which are named as it."""
    return {"paper": "questions"}.get(asked.protocol, asked.protocol)


def _data(folder: Path, benchmark: str, results: Results) -> Path:
    """Items of a release, and clips of which every tenth is missing."""
    release = getattr(synthetic, f"{benchmark}_release")
    clips, items = load_release(benchmark).read_release(release(folder), "release", {}).tables()
    write_table(items, results.items(benchmark), ITEMS)
    names = clips.cast(dict(CLIPS))["clip_id"].to_list()
    ledger = [
        {"clip_id": name, "unit": name, "status": "gone" if place % 10 == 9 else "ok", "object": f"clips/{place}.mp4"}
        | {"recipe": "", "sha256": "", "bytes": 1, "message": "No such video."}
        for place, name in enumerate(names)
    ]
    write_table(pl.DataFrame(ledger, schema=CLIP_LEDGER), results.ledger("clips", benchmark, 0), CLIP_LEDGER)
    facts = [{"clip_id": name, "duration_s": 9.6, "frames": 240, "fps": 25.0} for name in names]
    write_table(pl.DataFrame(facts, schema=FACTS), results.facts(benchmark), FACTS)
    frames = [{"clip_id": name, "indices": list(range(8)), "times_s": TIMES, "note": ""} for name in names]
    write_table(pl.DataFrame(frames, schema=FRAME_PLAN), results.frames(benchmark, SAMPLING), FRAME_PLAN)
    return results.items(benchmark)


def _runs(folder: Path, asked: Asked, items: Path, results: Results, models: int) -> Iterator[ReportedRun]:
    """Runs whose tables the real stages have made; models that answer in the same way share them."""
    setting = Setting(folder, asked, items)
    _link(setting.path("requests"), results.requests(asked.benchmark, asked.protocol))
    for way in range(min(WAYS, models)):
        for _ in setting.score(way):
            pass
        for model in range(way, models, WAYS):
            run = ReportedRun(
                run=f"{asked.benchmark}/{asked.protocol}/{SAMPLING}/model-{model:02d}",
                judge=JUDGE if setting.judged else "",
                label=f"Model {model}",
            )
            _link_run(run, setting, f"metrics{way}", results)
            yield run


def _link_run(run: ReportedRun, setting: Setting, metrics: str, results: Results) -> None:
    one: Run = run.scored.run
    _link(setting.path("responses"), results.responses(one))
    for name, reader in zip(("robust", "authors"), readers_of(run), strict=True):
        _link(setting.path(name), results.verdicts(one, reader))
    _link(setting.path(metrics), results.metrics(Scored(one, run.judge)))
    if run.judge:
        _link(setting.path("judge_responses"), results.judge_responses(one, run.judge))
    write_table(pl.DataFrame(schema=TIMINGS), results.timings(one), TIMINGS)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    os.link(source, target)


if __name__ == "__main__":
    main()
