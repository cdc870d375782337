"""`store` and `subtitles`: what videos, clips and answers take, what no clone uses, and subtitles for a release."""

from itertools import chain
from pathlib import Path

from reprise.commands.shared import ledger_of, plan_of
from reprise.config.load import load
from reprise.core.clones import forget, idle_clones, readable_clones, register
from reprise.core.errors import UserError, refuse_unknown
from reprise.core.files import write_text
from reprise.core.paths import RESULTS, Results
from reprise.core.schemas import read_table
from reprise.core.store import Store
from reprise.fetch.outcome import safe_name
from reprise.plan.upkeep import LEDGERS


def look_at_store(*, prune: bool, repair: bool, forgotten: Path | None) -> None:
    """Delete videos and clips that no clone's ledgers name, drop damaged lines, forget a clone; or print the sizes."""
    store = Store(Path(load(Path()).main.store))
    register(store, Path())  # this clone is known to use it
    if forgotten is not None:
        forget(store, forgotten)
        print(f"{forgotten} is forgotten")
    if repair:
        idle_clones(store)
        print("\n".join(store.repair()) or "no damaged line")
    if prune:
        results = [found for clone in readable_clones(store) for found in Results.of_all_suites(clone / RESULTS)]
        ledgers = [
            (path, LEDGERS[stage]) for of in results for stage in LEDGERS for *_, path in of.found_ledgers(stage)
        ]
        named = (read_table(path, schema)["object"].to_list() for path, schema in ledgers)
        print(f"{store.prune(chain.from_iterable(named)) / 1e6:.1f} MB freed")
    if not (forgotten or repair or prune):
        print(store.root)
        for kind, (files, size) in store.sizes().items():
            print(f"  {kind:<10} {files:>8} files {size / 1e6:>12.1f} MB")


def copy_subtitles(benchmark: str, suite: str | None = None) -> None:
    """Copy the subtitles that came with a benchmark's videos into the folder that its suite names as `extras`."""
    plan = plan_of(suite)
    benchmarks = plan.config.suite.benchmarks
    refuse_unknown("benchmark", [benchmark], benchmarks, "subtitles")
    extras = benchmarks[benchmark].extras
    if extras is None:
        raise UserError(
            f"{plan.config.file}: benchmarks.{benchmark}.extras: missing. Name the folder that "
            "takes the subtitles; its files then count as files of the release."
        )
    count = 0
    for name, video in ledger_of(plan, "sources", benchmark).filter(status="ok").select("source_id", "object").rows():
        found = (plan.store.root / video).with_suffix(".vtt")
        if found.is_file():
            text = found.read_text(encoding="utf-8")
            write_text(Path(extras) / "subtitles" / safe_name("{source_id}.vtt", name), text)
            count += 1
    print(f"{count} files in {extras}/subtitles. Run snakemake now: it reads them.")
