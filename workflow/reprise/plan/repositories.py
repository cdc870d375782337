"""What a repository of the hub holds, against what its reader expects: looked at before anything large is fetched."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from reprise.benchmarks.registry import load_release
from reprise.config.benchmark import Benchmark
from reprise.config.model import Model
from reprise.config.suite import SuiteBenchmark
from reprise.core.errors import UserError
from reprise.core.files import matching_files
from reprise.fetch.hub import fetch_snapshot
from reprise.fetch.settings import Huggingface, ReleaseHub
from reprise.models.base import ModelSpec
from reprise.models.local.weights import CODE, SMALL, WEIGHTS

MB, GB = 10**6, 10**9
LARGEST = 300 * MB  # files beyond this are not fetched to be looked at
SHOWN = 8

Sizes = Mapping[str, int]


def sizes_of(kind: Literal["model", "dataset"], repo: str, revision: str) -> Sizes:
    from huggingface_hub import HfApi

    found = HfApi().repo_info(repo, repo_type=kind, revision=revision, files_metadata=True).siblings
    return {one.rfilename: one.size or 0 for one in found or ()}


# --- models ----------------------------------------------------------------------------------------------------------


def weights_bytes(sizes: Sizes, further: Sequence[str] = ()) -> int:
    """Of a repository's files, those with the weights that are loaded; further ones are a program's."""
    return sum(size for name, size in sizes.items() if "/" not in name and _is_one_of(name, [WEIGHTS, *further]))


def _is_one_of(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, one) for one in patterns)


def model_differences(
    file: Path, model: Model, revision: str, sizes: Sizes, look: Callable[[Model, Path], Iterable[str]] | None = None
) -> Iterator[str]:
    """What of a model's repository is not what its file says and its adapter needs; `look` is at its small files."""
    assert model.repo is not None
    total = weights_bytes(sizes, model.files)
    if not total:
        yield f"it holds no {WEIGHTS}, and no other weights are loaded. It holds {_listed(sizes)}."
    if total > model.memory_mb * MB:
        yield f"its weights are {total / GB:.1f} GB, more than memory_mb: {model.memory_mb}."
    patterns = [*SMALL, *([CODE] if model.trust_remote_code else [])]
    wanted = [name for name, size in sizes.items() if size <= LARGEST and _is_one_of(name, patterns)]
    if "config.json" not in wanted and model.adapter != "contrastive":
        yield f"it has no config.json. It holds {_listed(sizes)}."
        return
    with TemporaryDirectory() as folder:
        fetch_snapshot(str(file), "model", model.repo, revision, Path(folder), wanted)
        yield from (one.replace(f"{folder}: ", "") for one in (look or folder_differences)(model, Path(folder)))


def folder_differences(model: Model, folder: Path) -> list[str]:
    """What of a folder with a model's small files is not what its adapter needs; weights are not loaded."""
    from reprise.models.local.examine import differences

    return list(differences(model.adapter, _spec(model, folder)))


def frames_of(model: Model, folder: Path) -> str:
    """Return how a folder's processor and chat template take frames: as a `video`, or as `images`."""
    from reprise.models.local.examine import frames_shown

    return frames_shown(_spec(model, folder))


def _spec(model: Model, folder: Path) -> ModelSpec:
    return ModelSpec(folder, "cpu", 1, model.dtype, model.attention, model.trust_remote_code, model.settings)


# --- data sets -------------------------------------------------------------------------------------------------------


def release_differences(
    file: Path, name: str, entry: SuiteBenchmark, benchmark: Benchmark, release: ReleaseHub, revision: str
) -> Iterator[str]:
    """What of a release is not what the benchmark's reader expects: its files, and their columns."""
    sizes = sizes_of("dataset", release.repo, revision)
    wanted = [one for one in sizes if _is_one_of(one, benchmark.release_files)]
    if not wanted:
        yield f"no file is one of {', '.join(benchmark.release_files)}. It holds {_listed(sizes)}."
    large = [one for one in wanted if sizes[one] > LARGEST]
    yield from (f"{one}: {sizes[one] / GB:.1f} GB, too large to be looked at here." for one in large)
    if not wanted or large:
        return
    with TemporaryDirectory() as folder:
        fetch_snapshot(str(file), "dataset", release.repo, revision, Path(folder), wanted)
        files = list(matching_files(Path(folder), benchmark.release_files).values())
        try:
            load_release(name).read_release(files, entry.clips, benchmark.options | {"subset": None})
        except UserError as error:
            yield str(error).replace(f"{folder}/", "")


def route_differences(route: Huggingface, revision: str) -> Iterator[str]:
    """Archives that a route names and its repository does not hold."""
    sizes = sizes_of("dataset", route.repo, revision)
    missing = [pattern for pattern in route.files if not any(fnmatch(name, pattern) for name in sizes)]
    yield from (f"route.files: no file is '{pattern}'. It holds {_listed(sizes)}." for pattern in missing)


def _listed(sizes: Sizes) -> str:
    more = f" and {len(sizes) - SHOWN} more" if len(sizes) > SHOWN else ""
    return (", ".join(sorted(sizes)[:SHOWN]) or "nothing") + more
