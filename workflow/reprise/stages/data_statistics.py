"""Stage `statistics`: numbers of the data itself, such as videos and samples of each test."""

from pathlib import Path

import polars as pl

from reprise.benchmarks.flaws import flaw_numbers
from reprise.benchmarks.keys import StatisticsKey
from reprise.benchmarks.registry import load_data_statistics, load_video_statistics
from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.schemas import CLIPS, FACTS, ITEMS, METRICS, read_table, write_table
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("Count a benchmark's data.", key=Path, items=Path, clips=Path, facts=[Path], out=Path)
    benchmark = read_key(args.key, StatisticsKey).benchmark
    items, clips = read_table(args.items, ITEMS), read_table(args.clips, CLIPS)
    counted, of_videos = load_data_statistics(benchmark), load_video_statistics(benchmark)
    numbers = counted.statistics(items, clips) if counted else []
    for path in args.facts:
        numbers += of_videos.video_statistics(items, read_table(path, FACTS)) if of_videos else []
    known = {"run": f"{benchmark}/data", "convention": "fixed", "reader": "robust", "key": ""}
    rows = [
        known
        | {
            "metric": metric,
            "group": group,
            "value": value,
            "asked": items.height,
            "scored": items.height,
            "failed": 0,
            "unparsed": 0,
            "missing": 0,
        }
        for metric, group, value in numbers
    ]
    rows += [known | number for number in flaw_numbers(items)]
    write_table(pl.DataFrame(rows, schema=METRICS), args.out, METRICS)


if __name__ == "__main__":
    run_command(main)
