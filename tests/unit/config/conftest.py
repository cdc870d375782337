"""A copy of the configuration that a test may break, and the message about it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reprise.config.load import load
from reprise.core import yaml_files
from reprise.core.errors import UserError
from reprise.plan.runs import Plan
from reprise.plan.suite import all_settings

ROOT = Path(__file__).parents[3]
# Of the suite `construction`.
MMBENCH_VIDEO = "    tables: config/tables/construction/mmbench_video.yaml\n"


def with_raters(runs: str, more: str = "") -> str:
    """Return the start of a benchmark's entry with two groups of annotators who rate responses."""
    again, raters = (
        f"      {name}: {{kind: rating, runs: [{rated}], answers: '{name}*.csv'}}\n"
        for name, rated in (("again", "unpacked/interior8/toy-llava-ov"), ("raters", runs))
    )
    return f"{MMBENCH_VIDEO}{more}    annotators:\n{again}{raters}"


class Project:
    """A project whose configuration and imports a test may change."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, file: str, text: str) -> None:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # it may be a link
        path.write_text(text)

    def edit(self, file: str, old: str, new: str) -> None:
        text = (self.root / file).read_text()
        assert old in text, f"{file} has no {old!r}"
        self.write(file, text.replace(old, new, 1))

    def plan(self, suite: str = "") -> Plan:
        return Plan(load(self.root, {"suite": suite} if suite else {}))

    def message(self, suite: str = "") -> str:
        """Return the error message of the configuration, or of the settings that are planned from it."""
        with pytest.raises(UserError) as error:
            all_settings(self.plan(suite))
        return str(error.value)


@pytest.fixture(scope="session")
def each_text_is_parsed_once() -> Iterator[None]:
    """Cache parsed files by content, because a test changes one file of about eighty."""
    cache: dict[tuple[str, bytes], Any] = {}
    parse = yaml_files.load_yaml

    def read(path: Path) -> Any:
        key = (path.name, path.read_bytes() if path.is_file() else b"")
        if key not in cache:
            cache[key] = parse(path)
        return cache[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_files, "load_yaml", read)
        patch.setattr("reprise.config.load.load_yaml", read)
        patch.setattr("reprise.benchmarks.prompts.load_yaml", read)
        yield


@pytest.fixture(scope="session")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the files that a test may change, to which the folders of the tests link."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("config", "resources/imports", "resources/prompts"):
        shutil.copytree(ROOT / name, folder / name)
    for path in (ROOT / "resources").iterdir():
        if path.name not in ("imports", "prompts", "store"):
            (folder / "resources" / path.name).symlink_to(path)
    return folder


@pytest.fixture
def project(copied: Path, each_text_is_parsed_once: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in the working directory."""
    shutil.copytree(copied, tmp_path, copy_function=os.link, symlinks=True, dirs_exist_ok=True)
    monkeypatch.setattr("reprise.core.paths.WORKFLOW", tmp_path)
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)
