"""Commands `store` and `subtitles`: sizes and maintenance of the store, and subtitles for a release.

Several working directories may use one store. The store keeps no list of them, because it could be out of date. The
user names the directories before files are deleted.
"""

import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import typer

from reprise.commands.shared import is_running, load_plan, read_manifests
from reprise.config.load import load
from reprise.core.errors import UserError, reject_unknown
from reprise.core.files import write_text
from reprise.core.paths import RESULTS, Results
from reprise.core.plain import summarize_list
from reprise.core.schemas import read_table
from reprise.core.store import MARKER, Store
from reprise.fetch.outcome import safe_name
from reprise.plan.retries import MANIFEST_SCHEMAS

MAX_LISTED = 20


def manage_store(*, prune: bool, repair: bool, used_by: Sequence[Path] = (), yes: bool = False) -> None:
    """Delete videos and clips that no manifest names, drop damaged lines of response caches, or print the sizes."""
    store = Store(Path(load(Path()).main.store))
    if not (prune or repair):
        print(store.root)
        for kind, (files, size) in store.sizes().items():
            print(f"  {kind:<10} {files:>8} files {size / 1e6:>12.1f} MB")
        return
    if store.is_foreign:
        raise UserError(
            f"store '{store.root}': not marked as a store of Reprise (it has no file '{MARKER}'). Nothing was changed. "
            "Correct `store:` in config/config.yaml; the next run of snakemake marks a store of an earlier version."
        )
    users = _users(store, used_by, must_be_named=yes)
    store.mark()
    if repair:
        print("\n".join(store.repair()) or "No damaged lines.")
    if prune:
        _prune(store, users, yes)


def _users(store: Store, used_by: Sequence[Path], *, must_be_named: bool) -> list[Path]:
    """Return the working directories that use a store; raise a UserError if Snakemake runs in one of them.

    The user must name all of them if the store lies elsewhere or no confirmation precedes the deletion.
    """
    working_directory = Path().resolve()
    if not used_by and (must_be_named or not store.root.resolve().is_relative_to(working_directory)):
        raise UserError(
            f"store '{store.root}': other working directories may use it. Nothing was changed. Name each of them: "
            "`--used-by <folder>`, which can be repeated, or `--used-by .` if only this one does."
        )
    users = list(dict.fromkeys([working_directory, *(folder.resolve() for folder in used_by)]))
    for folder in users:
        if folder != working_directory and not (folder / RESULTS).is_dir():
            raise UserError(
                f"--used-by {folder}: there is no folder '{RESULTS}', so the files that it uses are unknown. "
                "Nothing was changed. Correct the path, or leave it out if it no longer uses the store."
            )
        if is_running(folder):
            raise UserError(
                f"store '{store.root}': snakemake is running in {folder}. Wait until it ends; if it was "
                "killed, run `snakemake --unlock` there first."
            )
    return users


def _prune(store: Store, users: Sequence[Path], yes: bool) -> None:
    """Delete the files that no results of these working directories name, after the user confirms the list."""
    unused = _unused(store, users)
    if unused:
        names = [str(path.relative_to(store.root)) for path in unused]
        size = sum(path.lstat().st_size for path in unused)
        print(f"{store.root}: {len(unused)} unused files, {size / 1e6:.1f} MB:")
        print("\n".join(f"  {name}" for name in summarize_list(names, MAX_LISTED)))
        print(
            f"No results in {', '.join(map(str, users))} name them. If another working directory uses this store, "
            "answer no, and name it with `--used-by <folder>`."
        )
        if not yes and not sys.stdin.isatty():
            raise UserError(
                "store --prune: nothing was deleted, because there is no terminal to confirm it. Add --yes to delete "
                "these files, and --used-by with each working directory that uses the store."
            )
        if not yes and not typer.confirm("Delete them?"):
            print("Nothing was deleted.")
            return
    still_unused = set(_unused(store, users)) if unused else set()  # A job may have started in the meantime.
    print(f"{store.delete(path for path in unused if path in still_unused) / 1e6:.1f} MB freed")


def _unused(store: Store, users: Sequence[Path]) -> list[Path]:
    """Return the videos and clips that no manifest in these working directories names."""
    results = [suite_results for folder in users for suite_results in Results.list_all(folder / RESULTS)]
    manifests = [
        (path, MANIFEST_SCHEMAS[stage])
        for suite_results in results
        for stage in MANIFEST_SCHEMAS
        for *_, path in suite_results.existing_manifests(stage)
    ]
    objects = (read_table(path, schema)["object"].to_list() for path, schema in manifests)
    return store.find_unused(chain.from_iterable(objects))


def copy_subtitles(benchmark: str, suite: str | None = None) -> None:
    """Copy the subtitles of a benchmark's videos into the `extras` folder of its suite."""
    plan = load_plan(suite)
    benchmarks = plan.config.suite.benchmarks
    reject_unknown("benchmark", [benchmark], benchmarks, "subtitles")
    extras = benchmarks[benchmark].extras
    if extras is None:
        raise UserError(
            f"{plan.config.file}: benchmarks.{benchmark}.extras: missing. Name the folder that "
            "receives the subtitles; its files then count as files of the release."
        )
    folder, count, edited = Path(extras) / "subtitles", 0, []
    for name, video in (
        read_manifests(plan, "sources", benchmark).filter(status="ok").select("source_id", "object").rows()
    ):
        subtitles = (plan.store.root / video).with_suffix(".vtt")
        if subtitles.is_file():
            text, target = subtitles.read_text(encoding="utf-8"), folder / safe_name("{source_id}.vtt", name)
            # The user may have corrected the copy, so a file that differs is kept.
            if target.is_file() and target.read_bytes() != text.encode():
                edited.append(target.name)
                continue
            write_text(target, text)
            count += 1
    if edited:
        print(f"Edited files in {folder} were kept: {', '.join(summarize_list(edited, MAX_LISTED))}.")
    print(f"{count} files copied to {folder}. Run snakemake now to read them.")
