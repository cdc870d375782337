"""The environment of a server: made from a folder of wheels without a network, once, and again where a kill left half."""

import subprocess
import zipfile
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.models.remote.serving.environment import build, environment_folder, named_versions, pins_file, python_of

NAME = "toy"


def wheel(folder: Path, name: str, version: str) -> None:
    """A package of one module that knows its version."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"version = '{version}'\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: not-there\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{one},,\n" for one in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for one, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(one, text)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A clone whose wheels lie in a folder."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "envs").mkdir()
    wheel(tmp_path / "wheels", "vllm", "0.0.1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return Store(tmp_path / "store")


def test_what_is_pinned_is_installed_once_and_nothing_beside_it(store: Store) -> None:
    pins_file(NAME).write_text("# the engine\nvllm==0.0.1  # and its reason\n")
    folder = environment_folder(pins_file(NAME), store)
    (folder / "bin").mkdir(parents=True)
    (folder / "half").touch()  # of a job that was killed
    with pytest.raises(UserError, match="whose rule serve_environment makes it"):
        python_of(NAME, store)
    assert build(NAME, store) == folder and not (folder / "half").exists()
    said = subprocess.run(
        [python_of(NAME, store), "-c", "import vllm; print(vllm.version)"], capture_output=True, text=True
    )
    assert said.stdout == "0.0.1\n" and named_versions(pins_file(NAME)) == {"vllm": "0.0.1"}
    (folder / "mark").touch()
    assert build(NAME, store) == folder and (folder / "mark").exists(), "it is there"


def test_packages_that_cannot_be_had_are_named(store: Store) -> None:
    pins_file(NAME).write_text("vllm==0.0.2\n")
    with pytest.raises(
        UserError, match=r"envs/toy\.txt: its packages could not be installed: .*vllm==0\.0\.2.*Without one, put"
    ):
        build(NAME, store)
    with pytest.raises(UserError, match="whose rule serve_environment makes it"):
        python_of(NAME, store)
