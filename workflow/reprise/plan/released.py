"""Keys of what a benchmark's release is, and of how it is read."""

from collections.abc import Sequence
from pathlib import Path

from reprise.benchmarks.keys import AnnotationsKey
from reprise.config.suite import SubsetFile
from reprise.core.files import matching_files
from reprise.fetch.keys import Extras, ReleaseKey
from reprise.fetch.settings import ReleaseFolder
from reprise.plan.runs import Plan


def release_key(plan: Plan, benchmark: str) -> ReleaseKey:
    """Key of a release that is fetched or found, with what is in a user's folder."""
    entry, patterns = plan.config.suite.benchmarks[benchmark], plan.config.benchmarks[benchmark].release_files
    extras = None
    if entry.extras is not None:
        extras = Extras(folder=entry.extras, files=_folder_digests(plan, entry.extras, patterns))
    found = _folder_digests(plan, entry.release.path, patterns) if isinstance(entry.release, ReleaseFolder) else {}
    return ReleaseKey(benchmark=benchmark, release=entry.release, files=tuple(patterns), extras=extras, found=found)


def annotations_key(plan: Plan, benchmark: str) -> AnnotationsKey:
    """Key of the clips and items of a benchmark."""
    entry = plan.config.suite.benchmarks[benchmark]
    subset = entry.subset
    return AnnotationsKey(
        benchmark=benchmark,
        clips=entry.clips,
        options=plan.config.benchmarks[benchmark].options | {"subset": subset.model_dump() if subset else None},
        subset_sha256=digest_of(plan, subset.file) if isinstance(subset, SubsetFile) else "",
        text_chars_max=plan.config.suite.text_chars_max,
    )


def digest_of(plan: Plan, file: str | Path | None) -> str:
    """The digest of a file that a stage reads; where it is missing, the stage says so."""
    return plan.store.digest(Path(file)) if file and Path(file).is_file() else ""


def _folder_digests(plan: Plan, folder: str, patterns: Sequence[str]) -> dict[str, str]:
    """The files of a user's folder by name and content."""
    return {name: plan.store.digest(path) for name, path in matching_files(Path(folder), patterns).items()}
