"""The clones that use a store: each is known by its folder and its own id, and pruning waits for what it cannot see."""

import shutil
from pathlib import Path

import pytest
from reprise.core.clones import forget, idle_clones, readable_clones, register, registered
from reprise.core.errors import UserError
from reprise.core.files import write_record
from reprise.core.store import Store


def new_clone(path: Path) -> Path:
    (path / "results").mkdir(parents=True)
    return path


def known(store: Store) -> list[Path]:
    return [note.clone for note in registered(store)]


def test_a_clone_of_another_machine_under_the_same_path_is_not_taken_for_this_one(tmp_path: Path) -> None:
    """The first machine's folder is out of sight: the second one must not prune what only that one names."""
    store, clone = Store(tmp_path / "store"), new_clone(tmp_path / "work/clone")
    register(store, clone)
    clone.parent.rename(tmp_path / "out-of-sight")
    register(store, new_clone(clone))
    assert known(store) == [clone, clone]
    with pytest.raises(UserError, match=f"cannot be seen from here.* --forget {clone}`"):
        readable_clones(store)
    forget(store, clone)
    assert readable_clones(store) == [clone], "what is there now is still known"
    forget(store, clone)
    assert known(store) == []


def test_a_folder_that_is_gone_stops_what_needs_idle_clones(tmp_path: Path) -> None:
    store, clone = Store(tmp_path / "store"), new_clone(tmp_path / "clone")
    register(store, clone)
    shutil.rmtree(clone)
    clone.touch()
    with pytest.raises(UserError, match="cannot be seen from here"):
        idle_clones(store)
    with pytest.raises(UserError, match=f"no clone '.*other' uses it. Known: {clone}"):
        forget(store, tmp_path / "other")
    write_record(tmp_path / "store/clones/aa.json", str(tmp_path))
    with pytest.raises(UserError, match=r"aa\.json: damaged, or of an earlier version. Run snakemake once"):
        readable_clones(store)
