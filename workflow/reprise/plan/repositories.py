"""Check repositories of the Hugging Face hub for the files that models and benchmarks need, before a large download."""

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
from reprise.core.files import list_matching_files
from reprise.fetch.hub import fetch_snapshot
from reprise.fetch.settings import Huggingface, ReleaseHub
from reprise.models.base import ModelSpec
from reprise.models.local.weights import CODE_PATTERN, CONFIG_PATTERNS, WEIGHT_PATTERN

MB, GB = 10**6, 10**9
MAX_DOWNLOAD_BYTES = 300 * MB  # Larger files are not fetched for inspection.
MAX_LISTED = 8  # files in a message

FileSizes = Mapping[str, int]
"""name of a file in a repository -> its size in bytes"""


def fetch_sizes(kind: Literal["model", "dataset"], repo: str, revision: str) -> FileSizes:
    """Return the size in bytes of each file of a repository."""
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        files = HfApi().repo_info(repo, repo_type=kind, revision=revision, files_metadata=True).siblings
    except (HfHubHTTPError, httpx2.HTTPError, OSError) as error:
        raise UserError(
            f"the hub did not list the files of {kind} '{repo}' ({error}). Check the network, then run the same "
            "command again."
        ) from error
    return {file.rfilename: file.size or 0 for file in files or ()}


# --- models ----------------------------------------------------------------------------------------------------------


def sum_weights_bytes(sizes: FileSizes, extra_patterns: Sequence[str] = ()) -> int:
    """Return the total size of the weights at the top level; `extra_patterns` match the files of a model runner."""
    return sum(
        size
        for name, size in sizes.items()
        if "/" not in name and _matches_any(name, [WEIGHT_PATTERN, *extra_patterns])
    )


def _matches_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def find_model_differences(
    file: Path,
    model: Model,
    revision: str,
    sizes: FileSizes,
    check_folder: Callable[[Model, Path], Iterable[str]] | None = None,
) -> Iterator[str]:
    """Yield how a model's repository differs from what the model's file and its adapter need.

    `check_folder` inspects the small files of the repository. The default is `find_folder_differences`.
    """
    assert model.repo is not None
    total_bytes = sum_weights_bytes(sizes, model.files)
    if not total_bytes:
        yield f"it holds no {WEIGHT_PATTERN}, and no other weights are loaded. It holds {_describe_files(sizes)}."
    if total_bytes > model.memory_mb * MB:
        yield f"its weights are {total_bytes / GB:.1f} GB, more than memory_mb: {model.memory_mb}."
    patterns = [*CONFIG_PATTERNS, *([CODE_PATTERN] if model.trust_remote_code else [])]
    small_files = [name for name, size in sizes.items() if size <= MAX_DOWNLOAD_BYTES and _matches_any(name, patterns)]
    if "config.json" not in small_files and model.adapter != "contrastive":
        yield f"it has no config.json. It holds {_describe_files(sizes)}."
        return
    with TemporaryDirectory() as folder:
        fetch_snapshot(str(file), "model", model.repo, revision, Path(folder), small_files)
        yield from (
            difference.replace(f"{folder}: ", "")
            for difference in (check_folder or find_folder_differences)(model, Path(folder))
        )


def find_folder_differences(model: Model, folder: Path) -> list[str]:
    """Return how a folder with a model's small files differs from what its adapter needs."""
    from reprise.models.local.checks import find_incompatibilities

    return list(find_incompatibilities(model.adapter, _make_model_spec(model, folder)))


def detect_frame_mode(model: Model, folder: Path) -> str:
    """Return the form in which a model's processor and chat template take frames: `video` or `images`."""
    from reprise.models.local import checks

    return checks.detect_frame_mode(_make_model_spec(model, folder))


def _make_model_spec(model: Model, folder: Path) -> ModelSpec:
    return ModelSpec(folder, "cpu", 1, model.dtype, model.attention, model.trust_remote_code, model.settings)


# --- data sets -------------------------------------------------------------------------------------------------------


def find_release_differences(
    file: Path, name: str, entry: SuiteBenchmark, benchmark: Benchmark, release: ReleaseHub, revision: str
) -> Iterator[str]:
    """Yield how a release differs from what its benchmark needs, such as missing files and columns."""
    sizes = fetch_sizes("dataset", release.repo, revision)
    release_files = [file_name for file_name in sizes if _matches_any(file_name, benchmark.release_files)]
    if not release_files:
        yield f"no file is one of {', '.join(benchmark.release_files)}. It holds {_describe_files(sizes)}."
    large_files = [file_name for file_name in release_files if sizes[file_name] > MAX_DOWNLOAD_BYTES]
    for file_name in large_files:
        yield f"{file_name}: {sizes[file_name] / GB:.1f} GB, too large to be checked here."
    if not release_files or large_files:
        return
    with TemporaryDirectory() as folder:
        fetch_snapshot(str(file), "dataset", release.repo, revision, Path(folder), release_files)
        files = list(list_matching_files(Path(folder), benchmark.release_files).values())
        try:
            load_release(name).read_release(files, entry.clips, benchmark.options | {"subset": None})
        except UserError as error:
            yield str(error).replace(f"{folder}/", "")


def find_route_differences(route: Huggingface, revision: str) -> Iterator[str]:
    """Yield the archives that a route names and its repository does not contain."""
    sizes = fetch_sizes("dataset", route.repo, revision)
    for pattern in route.files:
        if not any(fnmatch(name, pattern) for name in sizes):
            yield f"route.files: no file is '{pattern}'. It holds {_describe_files(sizes)}."


def _describe_files(sizes: FileSizes) -> str:
    suffix = f" and {len(sizes) - MAX_LISTED} more" if len(sizes) > MAX_LISTED else ""
    return (", ".join(sorted(sizes)[:MAX_LISTED]) or "nothing") + suffix
