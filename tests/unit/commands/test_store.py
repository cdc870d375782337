"""Test that `reprise store` deletes only files that Reprise wrote, and only after a confirmation."""

from pathlib import Path

import polars as pl
import pytest
import typer
from reprise.__main__ import app
from reprise.core.errors import UserError
from reprise.core.paths import Results
from reprise.core.schemas import CLIP_MANIFEST, SOURCES, write_table
from reprise.core.store import MARKER, Store

from tests.unit.config.conftest import Project
from tests.unit.core.programs import write

USER_FILES = (
    "clips/holiday.mp4",
    "clips/ab/" + "ab" * 32 + ".mp4",
    "sources/raw/interview.json",
    "notes.jsonl",
    "tmp/a.2.x",
)


def configure_store(project: Project, folder: str) -> Store:
    project.edit("config/config.yaml", "suite: demo", f"suite: demo\nstore: {folder}")
    return Store(project.root / folder)


def read_contents(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("option", ["--prune", "--repair", "--prune --used-by .", "--prune --repair"])
def test_a_folder_that_is_not_a_store_stays_unchanged(project: Project, option: str) -> None:
    store = configure_store(project, "videos")
    for name in USER_FILES:
        write(store.root / name, b"mine")
    contents_before = read_contents(store.root)
    with pytest.raises(
        UserError, match=r"store 'videos': not marked .* Nothing was changed. Correct `store:` in config"
    ):
        app(["store", *option.split()], standalone_mode=False)
    app(["store"], standalone_mode=False)
    assert read_contents(store.root) == contents_before


def test_files_of_the_user_in_a_store_are_kept(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    store = configure_store(project, "videos")
    user_files = [write(store.root / name, b"mine") for name in USER_FILES if "ab" * 32 not in name]
    store.mark()  # as a job does
    app(["store", "--prune", "--repair", "--used-by", ".", "--yes"], standalone_mode=False)
    assert "0.0 MB freed" in capsys.readouterr().out
    assert all(path.read_bytes() == b"mine" for path in user_files)


@pytest.mark.parametrize("answer", [None, "n", "y", "--yes"])
def test_objects_are_listed_and_deleted_after_a_confirmation(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: str | None
) -> None:
    store = configure_store(project, "store")
    clips = [write(store.path("clips", f"{number:02x}" * 32, ".mp4"), b"x" * 100_000) for number in range(30)]
    store.mark()
    assert (store.root / MARKER).is_file()
    if answer in ("y", "n"):
        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        monkeypatch.setattr(typer, "confirm", lambda question: answer == "y")
    arguments = ["store", "--prune", *(["--yes", "--used-by", "."] if answer == "--yes" else [])]
    if answer is None:
        with pytest.raises(
            UserError,
            match="nothing was deleted, because there is no terminal to confirm it. Add --yes to delete these files, and --",
        ):
            app(arguments, standalone_mode=False)
    else:
        app(arguments, standalone_mode=False)
    output = capsys.readouterr().out
    assert f"store: 30 unused files, 3.0 MB:\n  clips/00/{'00' * 32}.mp4\n" in output
    assert "  and 10 more\n" in output and len(output.splitlines()) < 25
    assert f"No results in {project.root} name them. If another working directory uses this store, answer no" in output
    is_deleted = answer in ("y", "--yes")
    assert ("3.0 MB freed" in output) is is_deleted
    assert [path.exists() for path in clips] == [not is_deleted] * 30


def add_used_clip(folder: Path, store: Store, digest: str) -> Path:
    """Add a clip to the store that the results of a working directory name."""
    clip = write(store.path("clips", digest, ".mp4"))
    row = {"clip_id": "a", "cluster": "a", "status": "ok", "object": str(clip.relative_to(store.root))}
    results = Results("demo", folder / "results")
    write_table(pl.DataFrame([row], schema=CLIP_MANIFEST), results.manifest("clips", "velociti", 0), CLIP_MANIFEST)
    write_table(pl.DataFrame(schema=SOURCES), results.manifest("sources", "velociti", 0), SOURCES)
    return clip


@pytest.mark.parametrize("options", ["--prune", "--prune --yes", "--repair"])
def test_the_users_of_a_store_elsewhere_must_be_named(
    project: Project, tmp_path_factory: pytest.TempPathFactory, options: str
) -> None:
    store = configure_store(project, str(tmp_path_factory.mktemp("shared")))
    store.mark()
    clip = write(store.path("clips", "ab" * 32, ".mp4"))
    with pytest.raises(UserError, match=r"other working directories may use it. Nothing was changed. .*`--used-by \.`"):
        app(["store", *options.split()], standalone_mode=False)
    assert clip.is_file()


def test_files_that_a_named_working_directory_uses_are_kept(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store, other = configure_store(project, str(tmp_path_factory.mktemp("shared"))), tmp_path_factory.mktemp("other")
    store.mark()
    clips = [add_used_clip(folder, store, digest * 32) for folder, digest in ((project.root, "aa"), (other, "bb"))]
    unused = write(store.path("clips", "cc" * 32, ".mp4"))
    prune = ["store", "--prune", "--yes", "--used-by"]
    with pytest.raises(UserError, match=r"--used-by .*elsewhere: there is no folder 'results'.* Nothing was changed"):
        app([*prune, str(project.root / "elsewhere")], standalone_mode=False)
    locks = other / ".snakemake/locks"
    write(locks / "0.output.lock")
    with pytest.raises(UserError, match=f"snakemake is running in {other}. Wait until it ends"):
        app([*prune, str(other)], standalone_mode=False)
    (locks / "0.output.lock").unlink()
    assert unused.is_file()
    app([*prune, str(other)], standalone_mode=False)
    assert all(clip.is_file() for clip in clips) and not unused.exists()
