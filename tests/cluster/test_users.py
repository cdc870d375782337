"""Test two users on one machine: each has a resident model process, with its socket in a private folder."""

import os
import pwd
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.runs import Run
from tests.workflow.conftest import FULL
from tests.workflow.resident import ResidentProject, resident_project

USERS = tuple(pwd.getpwnam(name).pw_uid for name in ("daemon", "nobody"))


@pytest.fixture
def project_of() -> Iterator[Callable[[int], ResidentProject]]:
    folders: list[Path] = []

    def make(user: int) -> ResidentProject:
        folders.append(Path(tempfile.mkdtemp(prefix="reprise-test-")))  # Only root can access pytest's folder.
        project = resident_project(folders[-1] / "project").models(["a"], answer_s=0.1)
        for path in (folders[-1], *folders[-1].rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)
        return project

    yield make
    for path in (*folders, *map(sockets_of, USERS)):
        shutil.rmtree(path, ignore_errors=True)


def sockets_of(user: int) -> Path:
    return Path(f"/tmp/reprise-{user}")  # noqa: S108


def start_as(user: int, project: ResidentProject) -> Run:
    user_command = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]
    # Let the user read, but not write, an environment in a folder of root.
    user_command += [
        "--inh-caps",
        "+dac_read_search",
        "--ambient-caps",
        "+dac_read_search",
        "env",
        f"HOME={project.root}",
    ]
    return Run(
        [*user_command, sys.executable, "-m", "snakemake", "--cores", "1", FULL, "results/tables/table3.md"],
        project.root,
    )


def test_two_users_at_once_share_no_model(project_of: Callable[[int], ResidentProject]) -> None:
    projects = [project_of(user) for user in USERS]
    runs = [start_as(user, kept) for user, kept in zip(USERS, projects, strict=True)]
    for project in projects:
        project.wait_until(lambda project=project: project.notes("requested"))
    folders = [sockets_of(user).lstat() for user in USERS]
    assert [(folder.st_uid, stat.S_IMODE(folder.st_mode)) for folder in folders] == [(user, 0o700) for user in USERS]
    outcomes = [run.wait() for run in runs]
    assert all(outcome.is_ok for outcome in outcomes), "\n".join(outcome.tail() for outcome in outcomes)
    assert [kept.loads() for kept in projects] == [{"a": 1}] * 2


def test_a_folder_that_another_user_has_made_is_refused(project_of: Callable[[int], ResidentProject]) -> None:
    user, other_user = USERS
    sockets_of(user).mkdir()
    os.chown(sockets_of(user), other_user, other_user)
    outcome = start_as(user, project_of(user)).wait()
    assert (
        not outcome.is_ok and f"{sockets_of(user)}: not a folder that only you can access. Remove it" in outcome.output
    )
