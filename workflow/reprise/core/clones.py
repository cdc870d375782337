"""The clones of the project that use a store: pruning spares what any of them names, and waits for their jobs."""

from collections.abc import Iterator
from pathlib import Path

from reprise.core.checksums import read_record, write_record
from reprise.core.errors import UserError
from reprise.core.files import text_digest
from reprise.core.paths import RESULTS
from reprise.core.store import Store

LOCKS = Path(".snakemake/locks")


def is_running(clone: Path) -> bool:
    """Whether Snakemake works in a clone, or was killed there."""
    locks = clone / LOCKS
    return locks.is_dir() and any(locks.iterdir())


def register(store: Store, clone: Path) -> None:
    """Note that a clone uses the store."""
    path = _note(store, clone)
    if read_record(path) != str(clone.resolve()):
        write_record(path, str(clone.resolve()))


def forget(store: Store, clone: Path) -> None:
    """Take a clone for gone: what only it names may be deleted."""
    path = _note(store, clone)
    if not path.is_file():
        known = ", ".join(str(one) for one in registered(store)) or "none"
        raise UserError(f"store '{store.root}': no clone '{clone}' uses it. Known: {known}.")
    path.unlink()


def registered(store: Store) -> Iterator[Path]:
    """The clones that use the store."""
    for path in sorted((store.root / "clones").glob("*.json")):
        clone = read_record(path)
        if clone is None:
            raise UserError(f"{path}: damaged. Run snakemake once in each clone that uses this store, then delete it.")
        yield Path(clone)


def readable_clones(store: Store) -> list[Path]:
    """The clones that use the store, none of which works; an error if one of them cannot be read."""
    clones = idle_clones(store)
    for clone in clones:
        if clone != Path().resolve() and not (clone / RESULTS).is_dir():
            raise UserError(
                f"store '{store.root}': it is used by {clone}, where there is no folder '{RESULTS}' to be read. "
                f"If that clone is gone, run `python -m reprise store --forget {clone}` first."
            )
    return clones


def idle_clones(store: Store) -> list[Path]:
    """The clones that use the store; an error if one of them works."""
    clones = list(registered(store))
    for clone in clones:
        if is_running(clone):
            raise UserError(
                f"store '{store.root}': snakemake works in {clone}. Wait for its end; if it was killed, run "
                "`snakemake --unlock` there first."
            )
    return clones


def _note(store: Store, clone: Path) -> Path:
    return store.root / "clones" / f"{text_digest(str(clone.resolve()))[:16]}.json"
