"""Stage `statistics`: numbers of the data itself, such as videos and samples of each test."""

from pathlib import Path

import polars as pl

from reprise.benchmarks import load_benchmark
from reprise.errors import run_command
from reprise.schemas import CLIPS, ITEMS, METRICS, read_table, write_table
from reprise.stage import arguments, read_key


def main() -> None:
    args = arguments("Count a benchmark's data.", key=Path, items=Path, clips=Path, out=Path)
    key = read_key(args.key)
    items, clips = read_table(args.items, ITEMS), read_table(args.clips, CLIPS)
    rows = [
        {
            "run": f"{key['benchmark']}/data",
            "metric": metric,
            "group": group,
            "value": value,
            "asked": items.height,
            "scored": items.height,
            "failed": 0,
            "unparsed": 0,
            "missing": 0,
            "convention": "fixed",
            "reader": "robust",
            "note": None,
            "key": "",
        }
        for metric, group, value in load_benchmark(key["benchmark"]).statistics(items, clips)
    ]
    write_table(pl.DataFrame(rows, schema=METRICS), args.out, METRICS)


if __name__ == "__main__":
    run_command(main)
