"""Measure how the parts of the workflow scale: CPU time and memory on synthetic plans, one line per part and size.

`python -m bench.scale` takes about two minutes of CPU time; docs/scale.md has its results.
"""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar

import polars as pl
from reprise.core.files import append_checksum, canonical_json, text_digest
from reprise.core.names import compute_shard
from reprise.core.schemas import CLIP_MANIFEST, FRAME_PLAN, REQUESTS, RESPONSES, read_table, write_table
from reprise.core.store import Store
from reprise.models.base import Answer
from reprise.models.inference.response_cache import ResponseCache, get_response_cache_path
from reprise.stages.clip_requests import gather_clip_requests

ROOT = Path(__file__).parents[1]
PROJECT_FILES = (
    "Snakefile",
    "workflow",
    "config",
    "profiles",
    "resources/prompts",
    "resources/published",
    "resources/subsets",
)
CLIPS = (10_000, 100_000)
RUNS = (100, 300, 1000)
SHARDS = 64
MIB = 2**20
Result = TypeVar("Result")
SUITE = """\
title: Scale
show_published: false
run: [local]
shards: {shards}
missing_share_max: 0.5
benchmarks:
  velociti:
    tables: config/tables/scale.yaml
    release: {{kind: folder, path: release}}
    clips: ids
    route: {{kind: folder, path: videos}}
    subset: {{per_test: 2}}
"""
TABLE = """\
benchmark: velociti
tables:
  table2:
    title: Scale
    caption: Scale.
    metrics: [strict]
    columns: [{title: Avg, group: average}]
    sections:
      - protocol: entail
        sampling: fps1
        rows:
"""


class Usage(NamedTuple):
    """CPU time of a part, and the growth of the process's memory."""

    seconds: float
    mib: float


Part = Callable[[Path, int], Callable[[], object]]
"""A function that writes the inputs of a part of the workflow, for a number of clips, into a folder.

It returns the call to measure.
"""


def measure_part(prepare: Part, folder: Path, count: int) -> Usage:
    """Run a part in this process, which must do nothing else."""
    call = prepare(folder, count)
    start, start_mib = time.process_time(), _peak_mib(resource.RUSAGE_SELF)
    call()
    return Usage(time.process_time() - start, _peak_mib(resource.RUSAGE_SELF) - start_mib)


def _peak_mib(target: int) -> float:
    """Return the peak memory of this process (`RUSAGE_SELF`) or of its children (`RUSAGE_CHILDREN`)."""
    return resource.getrusage(target).ru_maxrss * 1024 / MIB


def requests(count: int) -> pl.DataFrame:
    """Return one request per clip."""
    names = [f"clip{number:07d}" for number in range(count)]
    text = "Does the video show that a person in a red coat opens the door before the dog runs out of the house?"
    return pl.DataFrame(
        {
            "request_id": [f"{name}#pos" for name in names], "item_id": names, "clip_id": names, "role": "pos",
            "request_type": "choose", "system": "", "prompt": [f"{name}: {text}" for name in names],
            "options": [["Yes", "No"]] * count, "option_texts": [[""]] * count, "expected": "Yes", "max_tokens": 8,
        },
        schema=REQUESTS,
    )  # fmt: skip


def responses(count: int) -> pl.DataFrame:
    """Return the response to each request."""
    names = [f"clip{number:07d}" for number in range(count)]
    return pl.DataFrame(
        {
            "request_id": [f"{name}#pos" for name in names], "item_id": names, "role": "pos", "text": "Yes",
            "scores": [[number / count, 0.5] for number in range(count)], "frames_shown": 16,
            "prompt_sha256": [text_digest(name) for name in names], "tokens_in": 3000, "tokens_out": 1,
            "error": "", "message": "", "key": "k" * 64,
        },
        schema=RESPONSES,
    )  # fmt: skip


def manifest(count: int) -> pl.DataFrame:
    """Return a manifest of so many clips."""
    names = [f"clip{number:07d}" for number in range(count)]
    digests = [text_digest(name) for name in names]
    return pl.DataFrame(
        {
            "clip_id": names, "cluster": names, "status": "ok",
            "object": [f"clips/{digest[:2]}/{digest}.mp4" for digest in digests],
            "recipe": digests, "sha256": digests, "bytes": 1, "black_start": None, "black_end": None, "message": "",
        },
        schema=CLIP_MANIFEST,
    )  # fmt: skip


def frames(count: int) -> pl.DataFrame:
    """Return a frame plan of so many clips with 16 frames each."""
    names = [f"clip{number:07d}" for number in range(count)]
    indices = list(range(16))
    rows = {
        "clip_id": names,
        "indices": [indices] * count,
        "times_s": [[index / 2 for index in indices]] * count,
        "note": "",
    }
    return pl.DataFrame(rows, schema=FRAME_PLAN)


def prepare_writing(folder: Path, count: int) -> Callable[[], object]:
    table = responses(count)
    return lambda: write_table(table, folder / "responses.parquet", RESPONSES)


def prepare_reading(folder: Path, count: int) -> Callable[[], object]:
    return lambda: read_table(folder / "responses.parquet", RESPONSES)


def prepare_sharding(folder: Path, count: int) -> Callable[[], object]:
    names = manifest(count)["cluster"].to_list()
    return lambda: [compute_shard(name, SHARDS) for name in names]


def prepare_gathering(folder: Path, count: int) -> Callable[[], object]:
    tables = requests(count), frames(count), manifest(count)
    return lambda: gather_clip_requests(*tables, Store(folder))


def prepare_loading(folder: Path, count: int) -> Callable[[], object]:
    """Write a response cache with an answer for each clip, and return a call that loads it."""
    path = get_response_cache_path(Store(folder), "ab" * 32)
    path.parent.mkdir(parents=True)
    with path.open("w") as stream:
        for digest in manifest(count)["recipe"]:
            line = canonical_json([digest[:32], "Yes", [0.25, 0.75], 16, 3000, 1, 0.5])
            stream.write(f"{append_checksum(line)}\n")
    return lambda: ResponseCache(path)


def prepare_appending(folder: Path, count: int) -> Callable[[], object]:
    """Return a call that appends a tenth of the answers to a response cache, one by one."""
    cache, answer = ResponseCache(folder / "appended.jsonl"), Answer("Yes", (0.25, 0.75), 16, 3000, 1)
    return lambda: [cache.add(f"{number:032d}", answer, 0.5) for number in range(count // 10)]


def prepare_listing(folder: Path, count: int) -> Callable[[], object]:
    """Write an empty object for each clip, and return a call that counts the files of the store."""
    store = Store(folder)
    for name in manifest(count)["object"]:
        path = store.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return store.count_files_and_bytes


def prepare_checking(folder: Path, count: int) -> Callable[[], object]:
    names = manifest(count)["object"].to_list()
    return lambda: [(folder / name).stat() for name in names]


PARTS: dict[str, Part] = {
    "write a table of responses": prepare_writing,
    "read the table": prepare_reading,
    "shards of the clips": prepare_sharding,
    "gather a run's requests": prepare_gathering,
    "load a response cache": prepare_loading,
    "cache a tenth of the responses": prepare_appending,
    "list the store": prepare_listing,
    "check each object of the manifests": prepare_checking,
}


def copy_project(folder: Path, names: Sequence[str] = PROJECT_FILES) -> Path:
    """Copy these parts of the project."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, folder / name)
    return folder


def write_project(folder: Path, runs: int) -> None:
    """Copy the project without data, and add a table with a number of runs."""
    copy_project(folder)
    (folder / "config/suites/scale.yaml").write_text(SUITE.format(shards=SHARDS))
    rows = [f"          - {{label: Model {number}, model: scale-{number}}}\n" for number in range(runs)]
    (folder / "config/tables/scale.yaml").write_text(TABLE + "".join(rows))
    for number in range(runs):
        model = f"label: Model {number}\nadapter: random\nsettings: {{seed: {number}}}\n"
        (folder / f"config/models/scale-{number}.yaml").write_text(model)


def measure_snakemake(folder: Path, arguments: Sequence[str]) -> Usage:
    """Run snakemake, including its start, and return its usage."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
    environment = os.environ | {"PYTHONPATH": str(folder / "workflow")}
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if process.returncode:
        raise SystemExit(process.stdout + process.stderr)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime
    return Usage(seconds, _peak_mib(resource.RUSAGE_CHILDREN))


def measure_runs(folder: Path, runs: int) -> Iterator[tuple[str, Usage]]:
    """Yield the usage of the parts that grow with runs."""
    write_project(folder, runs)
    for label in ("first dry run", "dry run"):
        yield label, call_in_new_process(measure_snakemake, folder, ("-n", "--config", "suite=scale"))


def call_in_new_process(work: Callable[..., Result], *arguments: object) -> Result:
    """Call a function in a new process, so that its time and memory are measured alone."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def print_usage(count: int, unit: str, part: str, usage: Usage) -> None:
    print(f"{count:>9} {unit}  {part:<38}{usage.seconds:8.2f} s {usage.mib:8.0f} MiB", flush=True)


def main() -> None:
    """Print the usage of each part at each size."""
    with TemporaryDirectory() as name:
        for count in CLIPS:
            folder = Path(name, f"clips{count}")
            folder.mkdir()
            for part, prepare in PARTS.items():
                print_usage(count, "clips", part, call_in_new_process(measure_part, prepare, folder, count))
        for runs in RUNS:
            for part, usage in measure_runs(Path(name, f"runs{runs}"), runs):
                print_usage(runs, "runs", part, usage)


if __name__ == "__main__":
    main()
