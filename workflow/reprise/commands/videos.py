"""`store` and `subtitles`: what videos, clips and answers take, what no clone uses, and subtitles for a release."""

import sys
from itertools import chain
from pathlib import Path

import typer

from reprise.commands.shared import ledger_of, plan_of
from reprise.config.load import load
from reprise.core.clones import forget, idle_clones, readable_clones, register
from reprise.core.errors import UserError, refuse_unknown
from reprise.core.files import is_other, write_text
from reprise.core.paths import RESULTS, Results
from reprise.core.plain import first_of
from reprise.core.schemas import read_table
from reprise.core.store import MARKER, Store
from reprise.fetch.outcome import safe_name
from reprise.plan.upkeep import LEDGERS

MOST_LISTED = 20


def look_at_store(*, prune: bool, repair: bool, forgotten: Path | None, yes: bool = False) -> None:
    """Delete videos and clips that no clone's ledgers name, drop damaged lines, forget a clone; or print the sizes."""
    store = Store(Path(load(Path()).main.store))
    if not store.is_foreign:
        register(store, Path())  # this clone is known to use it
    elif prune or repair or forgotten:
        raise UserError(
            f"store '{store.root}': not marked as a store of Reprise (it has no file '{MARKER}'). Nothing was changed. "
            "Correct `store:` in config/config.yaml; a store of an earlier version is marked by the next snakemake."
        )
    if forgotten is not None:
        forget(store, forgotten)
        print(f"{forgotten} is forgotten")
    if repair:
        idle_clones(store)
        print("\n".join(store.repair()) or "no damaged line")
    if prune:
        _prune(store, yes)
    if not (forgotten or repair or prune):
        print(store.root)
        for kind, (files, size) in store.sizes().items():
            print(f"  {kind:<10} {files:>8} files {size / 1e6:>12.1f} MB")


def _prune(store: Store, yes: bool) -> None:
    """Delete what no clone uses, once a person who saw the list has agreed."""
    unused = _unused(store)
    if unused:
        names = [str(path.relative_to(store.root)) for path in unused]
        size = sum(path.lstat().st_size for path in unused)
        print(f"{store.root}: {len(unused)} files without use, {size / 1e6:.1f} MB:")
        print("\n".join(f"  {name}" for name in first_of(names, MOST_LISTED)))
        if not yes and not sys.stdin.isatty():
            raise UserError(
                "store --prune: nothing was deleted. Add --yes to delete these files; nobody can be asked here."
            )
        if not yes and not typer.confirm("Delete them?"):
            print("Nothing was deleted.")
            return
    still_unused = set(_unused(store)) if unused else set()  # a job may have begun meanwhile
    print(f"{store.delete(path for path in unused if path in still_unused) / 1e6:.1f} MB freed")


def _unused(store: Store) -> list[Path]:
    """Return the videos and clips that the ledgers of no clone name."""
    results = [found for clone in readable_clones(store) for found in Results.of_all_suites(clone / RESULTS)]
    ledgers = [(path, LEDGERS[stage]) for of in results for stage in LEDGERS for *_, path in of.found_ledgers(stage)]
    named = (read_table(path, schema)["object"].to_list() for path, schema in ledgers)
    return store.unused(chain.from_iterable(named))


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
    folder, count, kept = Path(extras) / "subtitles", 0, []
    for name, video in ledger_of(plan, "sources", benchmark).filter(status="ok").select("source_id", "object").rows():
        found = (plan.store.root / video).with_suffix(".vtt")
        if found.is_file():
            text, target = found.read_text(encoding="utf-8"), folder / safe_name("{source_id}.vtt", name)
            if target.is_file() and is_other(target, text):  # corrected by hand
                kept.append(target.name)
                continue
            write_text(target, text)
            count += 1
    if kept:
        print(f"Other files that are in {folder} already stay: {', '.join(first_of(kept, MOST_LISTED))}.")
    print(f"{count} files in {folder}. Run snakemake now: it reads them.")
