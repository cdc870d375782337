"""Test the environments of servers: installed from wheels without a network, once, and again after a kill."""

import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.models.remote.serving.environment import (
    find_python,
    get_environment_folder,
    get_pins_path,
    install_environment,
    read_versions,
)

from tests.unit.fetch.server import silent_server

NAME = "toy"


def write_wheel(folder: Path, name: str, version: str) -> None:
    """Write a wheel with one module that contains its version."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"version = '{version}'\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: not-there\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for file, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(file, text)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Return the store of a clone whose wheels are in a folder."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "envs").mkdir()
    write_wheel(tmp_path / "wheels", "vllm", "0.0.1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return Store(tmp_path / "store")


URL = "https://code.example/authors/model.git"
MODULE = "origin = 'by the authors'\n"


@pytest.fixture
def commit(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a commit of a local repository that replaces the URL; its branch has a later commit."""
    origin = tmp_path / "origin"
    (origin / "code").mkdir(parents=True)
    (origin / "code" / "their_model.py").write_text(MODULE)
    (origin / "setup.py").write_text("raise SystemExit('the installation runs no code of a repository')\n")
    settings = {
        "protocol.file.allow": "always", "user.name": "T", "user.email": "t@example.org",
        f"url.{origin.as_uri()}.insteadOf": URL,
    }  # fmt: skip
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
    for index, (name, value) in enumerate(settings.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{index}", name)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{index}", value)

    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(origin), *arguments], check=True, capture_output=True, text=True).stdout

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    commit_id = git("rev-parse", "HEAD").strip()
    (origin / "code" / "their_model.py").write_text("origin = 'a later commit'\n")
    git("commit", "--quiet", "-a", "-m", "second")
    return commit_id


def test_only_pinned_packages_are_installed_and_only_once(
    store: Store, commit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This covers packages, a repository at a commit, and the Python version of the file."""
    pins = f"vllm==0.0.1  # and its reason\nmodel @ git+{URL}@{commit}#subdirectory=code  # of the paper\n"
    get_pins_path(NAME).write_text(pins)
    folder_without_python_pin = get_environment_folder(get_pins_path(NAME), store)
    get_pins_path(NAME).write_text(f"# the engine\npython==3.5\n{pins}")
    with pytest.raises(
        UserError, match=r"envs/toy\.txt: requires Python 3\.5, but python3\.5 was not found\. Install it"
    ):
        install_environment(NAME, store)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3.5").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    get_pins_path(NAME).write_text("python==3.5\nvllm==0.0.2\n")
    with pytest.raises(
        UserError, match=r"the packages could not be installed: .*vllm==0\.0\.2.*Without a network, put"
    ):
        install_environment(NAME, store)
    get_pins_path(NAME).write_text(f"# the engine\npython==3.5\n{pins}")
    folder = get_environment_folder(get_pins_path(NAME), store)
    (folder / "bin").mkdir(parents=True)
    (folder / "half").touch()  # left by a job that was killed
    with pytest.raises(UserError, match="whose rule serve_environment installs it"):
        find_python(NAME, store)
    assert install_environment(NAME, store) == folder != folder_without_python_pin and not (folder / "half").exists()
    assert (folder / "bin" / "python3.5").exists()
    program = "import vllm, their_model; print(vllm.version, their_model.origin)"
    output = subprocess.run([find_python(NAME, store), "-Ic", program], capture_output=True, text=True)
    assert output.stdout == "0.0.1 by the authors\n"
    assert read_versions(get_pins_path(NAME)) == {"vllm": "0.0.1", "model": commit}
    (folder / "mark").touch()
    assert install_environment(NAME, store) == folder and (folder / "mark").exists(), (
        "an installed environment is not installed again"
    )


def test_a_silent_server_of_a_repository_ends_the_installation(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise.models.remote.serving.environment.STALL_S", 1)
    get_pins_path(NAME).write_text(f"model @ git+{URL}@{40 * 'a'}\n")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", URL)
    with silent_server() as address:
        monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{address}/model.git.insteadOf")
        start = time.monotonic()
        with pytest.raises(UserError, match="could not be installed: .*too slow"):
            install_environment(NAME, store)
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"model @ git+{URL}", r"line 1: 'model @ .*' is not a pin\. Write .*@<40 digits of a commit>"),
        (f"model @ git+{URL}@{40 * 'a'}#subdirectory=../x", "is not a pin"),
        (f"model @ git+https://me:secret@code.example/x@{40 * 'a'}", "is not a pin"),
    ],
)  # fmt: skip
def test_a_repository_without_a_commit_is_rejected(store: Store, line: str, message: str) -> None:
    get_pins_path(NAME).write_text(f"{line}\n")
    with pytest.raises(UserError, match=message):
        install_environment(NAME, store)
