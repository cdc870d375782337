"""`reprise store` deletes what Reprise made and nothing else, and never without a person who agreed."""

from pathlib import Path

import pytest
import typer
from reprise.__main__ import app
from reprise.core.clones import register
from reprise.core.errors import UserError
from reprise.core.store import MARKER, Store

from tests.unit.config.conftest import Project
from tests.unit.core.programs import write

USERS = (
    "clips/holiday.mp4",
    "clips/ab/" + "ab" * 32 + ".mp4",
    "sources/raw/interview.json",
    "notes.jsonl",
    "tmp/a.2.x",
)


def store_at(project: Project, folder: str) -> Store:
    project.edit("config/config.yaml", "suite: demo", f"suite: demo\nstore: {folder}")
    return Store(project.root / folder)


def contents(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("option", ["--prune", "--repair", "--forget x", "--prune --repair"])
def test_a_folder_that_was_never_a_store_is_left_alone(project: Project, option: str) -> None:
    store = store_at(project, "videos")
    for name in USERS:
        write(store.root / name, b"mine")
    before = contents(store.root)
    with pytest.raises(
        UserError, match=r"store 'videos': not marked .* Nothing was changed. Correct `store:` in config"
    ):
        app(["store", "--yes", *option.split()], standalone_mode=False)
    app(["store"], standalone_mode=False)
    assert contents(store.root) == before


def test_a_folder_that_was_used_by_mistake_keeps_what_its_user_has(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    store = store_at(project, "videos")
    own = [write(store.root / name, b"mine") for name in USERS if "ab" * 32 not in name]
    register(store, project.root)  # as snakemake does
    (project.root / "results").mkdir()
    app(["store", "--prune", "--repair", "--yes"], standalone_mode=False)
    assert "0.0 MB freed" in capsys.readouterr().out
    assert all(path.read_bytes() == b"mine" for path in own)


@pytest.mark.parametrize("answer", [None, "n", "y", "--yes"])
def test_objects_are_listed_and_deleted_when_somebody_agrees(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: str | None
) -> None:
    store = store_at(project, "store")
    clips = [write(store.path("clips", f"{number:02x}" * 32, ".mp4"), b"x" * 100_000) for number in range(30)]
    register(store, project.root)
    (project.root / "results").mkdir()
    assert (store.root / MARKER).is_file()
    if answer in ("y", "n"):
        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        monkeypatch.setattr(typer, "confirm", lambda question: answer == "y")
    arguments = ["store", "--prune", *(["--yes"] if answer == "--yes" else [])]
    if answer is None:
        with pytest.raises(UserError, match="nothing was deleted. Add --yes to delete these files"):
            app(arguments, standalone_mode=False)
    else:
        app(arguments, standalone_mode=False)
    output = capsys.readouterr().out
    assert f"store: 30 files without use, 3.0 MB:\n  clips/00/{'00' * 32}.mp4\n" in output
    assert "  and 10 more\n" in output and len(output.splitlines()) < 25
    is_deleted = answer in ("y", "--yes")
    assert ("3.0 MB freed" in output) is is_deleted
    assert [path.exists() for path in clips] == [not is_deleted] * 30
