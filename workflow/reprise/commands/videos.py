"""Commands `store` and `subtitles`: sizes and maintenance of the store, and subtitles for a release.

Several working directories may use one store. The store has no list of them, because such a list could be out of date.
The user names the directories before files are deleted.
"""

import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from reprise.commands.numbers import format_bytes
from reprise.commands.output import write_lines
from reprise.commands.shared import confirm, has_running_snakemake, load_plan, read_manifests, require_working_directory
from reprise.config.load import load
from reprise.core.errors import UserError, reject_unknown
from reprise.core.files import write_text
from reprise.core.paths import RESULTS, Results
from reprise.core.plain import summarize_list
from reprise.core.schemas import read_table
from reprise.core.store import MARKER, Store
from reprise.fetch.outcome import fill_safe_name
from reprise.plan.retries import MANIFEST_SCHEMAS

MAX_LISTED = 20


def manage_store(*, prune: bool, repair: bool, used_by: Sequence[Path] = (), yes: bool = False) -> None:
    """Delete unused videos and clips, drop damaged lines of response caches, or print the sizes of a store.

    Args:
        prune: Whether to delete unused videos and clips.
        repair: Whether to drop damaged lines.
        used_by: Working directories that use the store, beside this one.
        yes: Whether to delete without a confirmation.
    """
    require_working_directory()
    store = Store(Path(load(Path()).main.store))
    if not (prune or repair):
        write_lines([str(store.root)])
        write_lines(
            f"  {kind:<14} {files:>8} files {size / 1e6:>12,.1f} MB"
            for kind, (files, size) in store.count_files_and_bytes().items()
        )
        return
    if store.is_foreign:
        raise UserError(
            f"store '{store.root}': not marked as a store of Reprise (it has no file '{MARKER}'). Nothing was changed. "
            "Correct `store:` in config/config.yaml; the next run of snakemake marks a store of an earlier version."
        )
    users = _resolve_users(store, used_by, must_be_named=yes)
    store.mark()
    if repair:
        write_lines(list(store.repair_logs()) or ["No damaged lines."])
    if prune:
        _prune(store, users, yes)


def _resolve_users(store: Store, used_by: Sequence[Path], *, must_be_named: bool) -> list[Path]:
    """Return the working directories that use a store: this one and those of `--used-by`.

    Raises:
        UserError: Snakemake runs in one of them, one has no results, or `--used-by` is missing. The option is required
            if the store is outside this working directory, or with `must_be_named` (deletion without confirmation).
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
        if has_running_snakemake(folder):
            raise UserError(
                f"store '{store.root}': snakemake is running in {folder}. Wait until it ends; if it was "
                "killed, run `snakemake --unlock` there first."
            )
    return users


def _prune(store: Store, users: Sequence[Path], is_confirmed: bool) -> None:
    """Delete the files that these working directories do not use, after the user has confirmed the list."""
    unused = _find_unused(store, users)
    if unused:
        names = [str(path.relative_to(store.root)) for path in unused]
        size = sum(path.lstat().st_size for path in unused)
        write_lines([f"{store.root}: {len(unused)} unused files, {format_bytes(size)}:"])
        write_lines(f"  {name}" for name in summarize_list(names, MAX_LISTED))
        write_lines(
            [
                f"No results in {', '.join(map(str, users))} name them. If another working directory uses this store, "
                "answer no, and name it with `--used-by <folder>`."
            ]
        )
        if not is_confirmed and not sys.stdin.isatty():
            raise UserError(
                "store --prune: nothing was deleted, because there is no terminal to confirm it. Add --yes to delete "
                "these files, and --used-by with each working directory that uses the store."
            )
        if not is_confirmed and not confirm("Delete them?"):
            print("Nothing was deleted.")
            return
    # A job may have started since the list was made.
    still_unused = set(_find_unused(store, users)) if unused else set()
    print(f"{format_bytes(store.delete(path for path in unused if path in still_unused))} freed")


def _find_unused(store: Store, users: Sequence[Path]) -> list[Path]:
    """Return the videos and clips of a store that no manifest in these working directories names."""
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
            f"{plan.config.suite_file}: benchmarks.{benchmark}.extras: missing. Name the folder that "
            "receives the subtitles; its files then count as files of the release."
        )
    folder, copied_count, edited_names = Path(extras) / "subtitles", 0, []
    sources = read_manifests(plan, "sources", benchmark).filter(status="ok")
    for source_id, video in sources.select("source_id", "object").rows():
        subtitles = (plan.store.root / video).with_suffix(".vtt")
        if subtitles.is_file():
            subtitle_text = subtitles.read_text(encoding="utf-8")
            target = folder / fill_safe_name("{source_id}.vtt", source_id)
            # The user may have corrected the copy, so a different file is not overwritten.
            if target.is_file() and target.read_bytes() != subtitle_text.encode():
                edited_names.append(target.name)
                continue
            write_text(target, subtitle_text)
            copied_count += 1
    if edited_names:
        names = ", ".join(summarize_list(edited_names, MAX_LISTED))
        write_lines([f"Edited files in {folder} were kept: {names}."])
    write_lines([f"{copied_count} files copied to {folder}. Run snakemake now to read them."])
