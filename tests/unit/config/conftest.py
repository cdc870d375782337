"""Provide a copy of the configuration that a test may break, and the message about it."""

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
# The line in the suite `construction` after which a test adds settings of MMBench-Video.
MMBENCH_VIDEO = "    tables: config/tables/construction/mmbench_video.yaml\n"


def add_rater_groups(runs: str, other_settings: str = "") -> str:
    """Return the start of a benchmark's entry with two groups of annotators who rate responses."""
    first_group, second_group = (
        f"      {name}: {{kind: rating, runs: [{rated_runs}], answers: '{name}*.csv'}}\n"
        for name, rated_runs in (("again", "unpacked/interior8/toy-llava-ov"), ("raters", runs))
    )
    return f"{MMBENCH_VIDEO}{other_settings}    annotators:\n{first_group}{second_group}"


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
        with pytest.raises(UserError) as caught:
            all_settings(self.plan(suite))
        return str(caught.value)


@pytest.fixture(scope="session")
def cached_yaml_files() -> Iterator[None]:
    """Cache parsed files by content: a test changes one file of about eighty."""
    content_by_file: dict[tuple[str, bytes], Any] = {}
    load_yaml = yaml_files.load_yaml

    def load_cached(path: Path) -> Any:
        key = (path.name, path.read_bytes() if path.is_file() else b"")
        if key not in content_by_file:
            content_by_file[key] = load_yaml(path)
        return content_by_file[key]

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(yaml_files, "load_yaml", load_cached)
        monkeypatch.setattr("reprise.config.load.load_yaml", load_cached)
        monkeypatch.setattr("reprise.benchmarks.prompts.load_yaml", load_cached)
        yield


@pytest.fixture(scope="session")
def project_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the files that a test may change; the folders of the tests have hard links to it."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("config", "resources/imports", "resources/prompts"):
        shutil.copytree(ROOT / name, folder / name)
    for path in (ROOT / "resources").iterdir():
        if path.name not in ("imports", "prompts", "store"):
            (folder / "resources" / path.name).symlink_to(path)
    return folder


@pytest.fixture
def project(
    project_template: Path, cached_yaml_files: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Project:
    """Return a project in the working directory."""
    shutil.copytree(project_template, tmp_path, copy_function=os.link, symlinks=True, dirs_exist_ok=True)
    monkeypatch.setattr("reprise.core.paths.WORKFLOW", tmp_path)
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)
