"""The clones of the project that use a store: pruning spares what any of them names, and waits for their jobs."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from reprise.core.errors import UserError
from reprise.core.files import read_record, value_digest, write_record
from reprise.core.locks import locked
from reprise.core.paths import RESULTS
from reprise.core.store import Store

LOCKS = Path(".snakemake/locks")
ID = Path(".snakemake/reprise-clone")


def is_running(clone: Path) -> bool:
    """Whether Snakemake works in a clone, or was killed there."""
    locks = clone / LOCKS
    return locks.is_dir() and any(locks.iterdir())


def register(store: Store, clone: Path) -> None:
    """Note that a clone uses the store; an error where its file system, or the clone's, has no locks.

    An id that is given to it once tells it from others that other machines or containers have under the same path.
    """
    with locked(store.root / "locks" / "any.lock"), locked(clone / ID):
        found = (clone / ID).read_text(encoding="utf-8", errors="replace")
        if not found:
            found = uuid4().hex
            (clone / ID).write_text(found, encoding="utf-8")
    store.mark()
    note = [str(clone.resolve()), found]
    path = store.root / "clones" / f"{value_digest(note)[:16]}.json"
    if read_record(path) != note:
        write_record(path, note)


class Note(NamedTuple):
    path: Path
    clone: Path
    id: str

    @property
    def is_here(self) -> bool:
        """Whether the folder of that name, as seen from here, is that clone."""
        try:
            return (self.clone / ID).read_text(encoding="utf-8", errors="replace") == self.id
        except OSError:
            return False


def forget(store: Store, clone: Path) -> None:
    """Take a clone for gone: what only it names may be deleted. Of two under one path, the other one goes first."""
    known = list(registered(store))
    chosen = [note for note in known if note.clone == clone.resolve()]
    if not chosen:
        listed = ", ".join(sorted({str(note.clone) for note in known})) or "none"
        raise UserError(f"store '{store.root}': no clone '{clone}' uses it. Known: {listed}.")
    for note in [note for note in chosen if not note.is_here] or chosen:
        note.path.unlink()


def registered(store: Store) -> Iterator[Note]:
    for path in sorted((store.root / "clones").glob("*.json")):
        match read_record(path):
            case [str(clone), str(found)]:
                yield Note(path, Path(clone), found)
            case _:
                raise UserError(
                    f"{path}: damaged, or of an earlier version. Run snakemake once in each clone that uses this "
                    "store, then delete it."
                )


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
    """The clones that use the store; an error if one of them works, or cannot be seen from here."""
    notes = list(registered(store))
    for note in notes:
        if not note.is_here:
            raise UserError(
                f"store '{store.root}': it is used by a clone in {note.clone} that cannot be seen from here: another "
                "machine or container has it, it was moved or deleted, or its .snakemake was. If that clone is gone, "
                f"or is the one that is there now, run `python -m reprise store --forget {note.clone}` first."
            )
        if is_running(note.clone):
            raise UserError(
                f"store '{store.root}': snakemake works in {note.clone}. Wait for its end; if it was killed, run "
                "`snakemake --unlock` there first."
            )
    return [note.clone for note in notes]
