"""Stage `statistics`: numbers of the data itself, such as videos and samples of each test."""

from pathlib import Path

import polars as pl

from reprise.benchmarks.flaws import flaw_numbers
from reprise.benchmarks.keys import StatisticsKey
from reprise.benchmarks.registry import load_statistics
from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.schemas import CLIPS, FACTS, ITEMS, METRICS, read_table, write_table
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("Count a benchmark's data.", key=Path, items=Path, clips=Path, facts=[Path], out=Path)
    benchmark = read_key(args.key, StatisticsKey).benchmark
    items, clips = read_table(args.items, ITEMS), read_table(args.clips, CLIPS)
    counted = load_statistics(benchmark)
    numbers = counted.of_data(items, clips)
    if counted.of_videos is not None:
        numbers += [number for path in args.facts for number in counted.of_videos(items, read_table(path, FACTS))]
    known = {"run": f"{benchmark}/data", "convention": "fixed", "reader": "robust", "key": ""}
    counts = {"asked": items.height, "scored": items.height, "failed": 0, "unparsed": 0, "missing": 0}
    rows = [known | number._asdict() | counts for number in numbers]
    rows += [known | number for number in flaw_numbers(items)]
    write_table(pl.DataFrame(rows, schema=METRICS), args.out, METRICS, args.made_under)


if __name__ == "__main__":
    run_command(main)
