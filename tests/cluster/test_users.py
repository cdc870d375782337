"""Two users on one machine: each has a process of their own that keeps the model, in a folder that is theirs alone."""

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
from tests.workflow.resident import Kept, kept_project

USERS = tuple(pwd.getpwnam(name).pw_uid for name in ("daemon", "nobody"))


@pytest.fixture
def project_of() -> Iterator[Callable[[int], Kept]]:
    made: list[Path] = []

    def make(user: int) -> Kept:
        made.append(Path(tempfile.mkdtemp(prefix="reprise-test-")))  # pytest's own folder is root's alone
        kept = kept_project(made[-1] / "project").models(["a"], answer_s=0.1)
        for path in (made[-1], *made[-1].rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)
        return kept

    yield make
    for path in (*made, *map(sockets_of, USERS)):
        shutil.rmtree(path, ignore_errors=True)


def sockets_of(user: int) -> Path:
    return Path(f"/tmp/reprise-{user}")  # noqa: S108


def start_as(user: int, kept: Kept) -> Run:
    become = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]
    # To read an environment that lies in a folder of root's, and to write nothing there.
    become += ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search", "env", f"HOME={kept.root}"]
    return Run(
        [*become, sys.executable, "-m", "snakemake", "--cores", "1", FULL, "results/tables/table3.md"], kept.root
    )


def test_two_users_at_once_share_no_model(project_of: Callable[[int], Kept]) -> None:
    projects = [project_of(user) for user in USERS]
    runs = [start_as(user, kept) for user, kept in zip(USERS, projects, strict=True)]
    for kept in projects:
        kept.wait_until(lambda kept=kept: kept.notes("asked"))
    folders = [sockets_of(user).lstat() for user in USERS]
    assert [(found.st_uid, stat.S_IMODE(found.st_mode)) for found in folders] == [(user, 0o700) for user in USERS]
    outcomes = [run.wait() for run in runs]
    assert all(outcome.is_ok for outcome in outcomes), "\n".join(outcome.tail() for outcome in outcomes)
    assert [kept.loads() for kept in projects] == [{"a": 1}] * 2


def test_a_folder_that_another_user_has_made_is_refused(project_of: Callable[[int], Kept]) -> None:
    mine, other = USERS
    sockets_of(mine).mkdir()
    os.chown(sockets_of(mine), other, other)
    outcome = start_as(mine, project_of(mine)).wait()
    assert (
        not outcome.is_ok and f"{sockets_of(mine)}: not a folder that only you can access. Remove it" in outcome.output
    )
