"""`missing`: videos and clips that are missing, why, which items count as missing for it, and in which runs."""

from collections import Counter
from collections.abc import Iterator

import polars as pl

from reprise.commands.failures import RETRY, SHOWN, failure_lines
from reprise.commands.plans import plan_of
from reprise.core.paths import Ledger
from reprise.core.plain import plain
from reprise.core.schemas import CLIP_LEDGER, ITEMS, REQUESTS, SOURCES, read_table
from reprise.plan.runs import Plan


def list_missing(suite: str | None, every: bool) -> None:
    """Print what is missing of each benchmark of a suite."""
    plan = plan_of(suite)
    shown = None if every else SHOWN
    found = [line for benchmark in plan.config.suite.benchmarks for line in lines(plan, benchmark, shown)]
    if found:
        print("\n".join([*found, RETRY]))
    else:
        print(f"Nothing is missing in suite '{plan.config.name}', as far as its videos were looked for.")


def lines(plan: Plan, benchmark: str, shown: int | None) -> Iterator[str]:
    """What is missing of one benchmark; nothing where all is there, or was not looked for yet."""
    sources = _ledgers(plan, "sources", benchmark, SOURCES).unique("source_id", maintain_order=True)
    clips = _ledgers(plan, "clips", benchmark, CLIP_LEDGER).unique("clip_id", maintain_order=True)
    yield from _of_kind("sources", sources, "source_id", benchmark, shown, _due(plan, benchmark, sources))
    yield from _of_kind("clips", clips, "clip_id", benchmark, shown, Counter())
    yield from _items(plan, benchmark, clips, shown)


def _ledgers(plan: Plan, stage: Ledger, benchmark: str, schema: pl.Schema) -> pl.DataFrame:
    paths = [path for name, _, path in plan.results.found_ledgers(stage) if name == benchmark]
    return pl.concat([pl.DataFrame(schema=schema), *(read_table(path, schema) for path in paths)])


def _due(plan: Plan, benchmark: str, sources: pl.DataFrame) -> Counter[str]:
    """How many sources by reason the next run tries again."""
    attempts = getattr(plan.config.suite.benchmarks[benchmark].route, "attempts", 1)
    due = sources.filter((pl.col("status") != "ok") & pl.col("transient") & (pl.col("attempts") < attempts))
    return Counter(due["status"])


def _of_kind(
    what: str, rows: pl.DataFrame, name: str, benchmark: str, shown: int | None, due: Counter[str]
) -> Iterator[str]:
    gone = rows.filter(pl.col("status") != "ok").select(reason="status", name=name, message="message")
    if gone.height:
        yield f"{what} of {benchmark}: {gone.height} of {rows.height} missing"
        yield from (f"  {line}" for line in failure_lines(gone, due, shown))


def _items(plan: Plan, benchmark: str, clips: pl.DataFrame, shown: int | None) -> Iterator[str]:
    """The items that were not asked, by protocol, and the runs in which they count as missing."""
    path = plan.results.items(benchmark)
    if not path.is_file():
        return
    items, gone = read_table(path, ITEMS), clips.filter(pl.col("status") != "ok")["clip_id"].implode()
    flawed = items.filter(pl.col("flaws").list.len() > 0)
    runs = [run for run in plan.runs() if run.benchmark == benchmark and run.model not in plan.imports.models]
    for protocol in sorted({run.protocol for run in runs}):
        requests = plan.results.requests(benchmark, protocol)
        if not requests.is_file():
            continue
        asked = read_table(requests, REQUESTS, REQUESTS.keys() - {"item_id", "clip_id"}).unique("item_id")
        missing = asked.filter(pl.col("clip_id").is_in(gone)).sort("item_id")
        if missing.height:
            those = [f"{run.sampling}/{run.model}" for run in runs if run.protocol == protocol]
            yield f"items of {benchmark}/{protocol}: {missing.height} of {asked.height} not asked: no clip"
            names = missing["item_id"].to_list()
            more = f", and {len(names) - shown} more" if shown is not None and len(names) > shown else ""
            yield f"  {', '.join(map(plain, names if shown is None else names[:shown]))}{more}"
            yield f"  they count as missing in {len(those)} runs: {', '.join(those)}"
    if flawed.height:
        yield f"items of {benchmark}: {flawed.height} of {items.height} come from flawed entries of the release"
        flaws = flawed["flaws"].explode().unique(maintain_order=True).to_list()
        yield from (f"  {plain(flaw)}" for flaw in flaws[:shown])
        if flaws[len(flaws) if shown is None else shown :]:
            yield f"  and {len(flaws) - (shown or 0)} more"
