"""Command `pin`: write the current commits of repositories into the configuration.

A repository stays unpinned if its files do not match the configuration.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from reprise.commands.output import write_lines
from reprise.config.benchmark import Benchmark
from reprise.config.model import Model
from reprise.config.problems import read_config_file
from reprise.config.suite import Suite
from reprise.core.errors import UserError, reject_unknown
from reprise.core.files import write_text
from reprise.core.names import UNPINNED
from reprise.core.paths import locate, working_folders
from reprise.fetch.settings import Huggingface, ReleaseHub
from reprise.plan.repositories import (
    fetch_sizes,
    find_model_differences,
    find_release_differences,
    find_route_differences,
    sum_weights_bytes,
)

# In a suite, `repo` precedes `revision` in the same block or line.
UNPINNED_BLOCK = re.compile(r"(?P<head>repo:[ ]*(?P<repo>[^\s,}]+),?\s+revision:[ ]*)unpinned\b")
REVISION_LINE = re.compile(r"^(revision:[ ]*)unpinned\b", re.MULTILINE)


def pin_files(
    root: Path, names: Sequence[str], *, unchecked: bool = False, benchmarks: Collection[str] | None = None
) -> None:
    """Pin the named models and suites, or all of them; `unchecked` skips the checks of the repositories.

    In suites, only the data of `benchmarks` are pinned; None pins those of all benchmarks. Files are written to the
    working directory `root`, even if they were read from the workflow's folder.
    """
    files = {
        path.stem: path.relative_to(base)
        for base in working_folders(root)
        for folder in ("suites", "models")
        for path in (base / "config" / folder).glob("*.yaml")
    }
    reject_unknown("model or suite", names, files, "pin")
    unpinned_files = [files[name] for name in names or sorted(files) if _is_unpinned(locate(files[name], root))]
    if not unpinned_files:
        folders = ", ".join(str(files[name]) for name in names) or "config/models/ and config/suites/"
        write_lines([f"Nothing to pin: no revision is `{UNPINNED}` in {folders}."])
    differences = [difference for file in unpinned_files for difference in _pin_file(file, root, unchecked, benchmarks)]
    if differences:
        raise UserError(
            "These repositories do not match their configuration and stay unpinned:\n  "
            + "\n  ".join(differences)
            + "\nCorrect these files, or pin the repositories without checks by `--unchecked`."
        )


def _is_unpinned(path: Path) -> bool:
    """Return whether a revision in the file of a model or a suite is unpinned."""
    pattern = REVISION_LINE if path.parent.name == "models" else UNPINNED_BLOCK
    return pattern.search(path.read_text(encoding="utf-8")) is not None


def _pin_file(file: Path, root: Path, unchecked: bool, benchmarks: Collection[str] | None) -> list[str]:
    """Pin the revisions in one file.

    If a repository differs from the configuration, the file stays unchanged and the differences are returned.
    """
    path = locate(file, root)
    text = path.read_text(encoding="utf-8")
    if path.parent.name == "models":
        model = read_config_file(Model, path)
        assert model.repo is not None
        revision = resolve_commit(model.repo, "model", path)
        pinned_text, differences = REVISION_LINE.sub(rf"\g<1>{revision}", text), []
        if not unchecked:  # Write the size of the weights on the line below the revision.
            sizes = fetch_sizes("model", model.repo, revision)
            differences = list(find_model_differences(path, model, revision, sizes))
            pinned_text = re.sub(r"^weights_bytes:.*\n", "", pinned_text, flags=re.MULTILINE)
            size_line = f"weights_bytes: {sum_weights_bytes(sizes, model.files)}"
            pinned_text = re.sub(r"^revision:.*$", rf"\g<0>\n{size_line}", pinned_text, count=1, flags=re.MULTILINE)
    else:
        repos = {match["repo"] for match in UNPINNED_BLOCK.finditer(text)}
        if benchmarks is not None:
            repos &= _list_repos(path, benchmarks)
        revisions = {repo: resolve_commit(repo, "dataset", path) for repo in sorted(repos)}
        differences = [] if unchecked else list(_suite_differences(path, root, revisions))
        pinned_text = UNPINNED_BLOCK.sub(lambda match: f"{match['head']}{revisions.get(match['repo'], UNPINNED)}", text)
    if not differences:
        write_text(root / file, pinned_text)
    return [f"{path}: {difference}" for difference in differences]


def _list_repos(path: Path, benchmarks: Collection[str]) -> set[str]:
    """Return the repositories that hold the data of these benchmarks in a suite's file."""
    settings_by_name = read_config_file(Suite, path).benchmarks
    sources = [
        source
        for name in benchmarks
        for source in (settings_by_name[name].release, settings_by_name[name].route)
        if isinstance(source, ReleaseHub | Huggingface)
    ]
    return {source.repo for source in sources}


def _suite_differences(path: Path, root: Path, revisions: Mapping[str, str]) -> Iterator[str]:
    """Yield the differences between a suite's file and its repositories; `revisions` maps repositories to commits."""
    for name, settings in read_config_file(Suite, path).benchmarks.items():
        release, route = settings.release, settings.route
        if isinstance(release, ReleaseHub) and release.repo in revisions:
            benchmark = read_config_file(Benchmark, locate(f"config/benchmarks/{name}.yaml", root))
            differences = find_release_differences(path, name, settings, benchmark, release, revisions[release.repo])
            yield from (f"benchmarks.{name}.release: {difference}" for difference in differences)
        if isinstance(route, Huggingface) and route.repo in revisions:
            yield from (
                f"benchmarks.{name}.{difference}" for difference in find_route_differences(route, revisions[route.repo])
            )


@cache
def resolve_commit(repo: str, kind: Literal["model", "dataset"], path: Path) -> str:
    """Return the current commit of a repository of the hub, and print it."""
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        revision = str(HfApi().repo_info(repo, repo_type=kind).sha)
    except (HfHubHTTPError, httpx2.HTTPError, OSError) as error:
        raise UserError(
            f"{path}: the hub did not resolve {kind} '{repo}' ({error}). It stays unpinned. "
            "Check the name and the network; a gated repository needs HF_TOKEN."
        ) from error
    write_lines([f"{path}: {repo} is {revision}"])
    return revision
