"""Test `pin`, which checks repositories before it writes their commits: models and data sets on a local hub."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from reprise.commands.pin import pin_files, resolve_commit
from reprise.core.errors import UserError

from tests.unit.commands.terminal import WIDTHS, check_output, run_command
from tests.unit.fetch.server import REVISION, make_repository, serve_paths
from tests.unit.fetch.test_hub import use_local_hub
from tests.unit.models.adapters import tiny

MODEL, DATASET = "some/model", "some/set"
MODEL_FILE = f"label: M\nadapter: transformers\nrepo: {MODEL}\nrevision: unpinned\nmemory_mb: 2000\n"
SUITE = f"""title: S
run: [none]
shards: 2
missing_share_max: 0.0
benchmarks:
  velociti:
    tables: config/tables/velociti.yaml
    release: {{kind: huggingface, repo: {DATASET}, revision: unpinned}}
    clips: release
    route: {{kind: huggingface, repo: {DATASET}, revision: unpinned, files: [videos.zip]}}
"""


@contextmanager
def serve_repository(
    kind: str, repo: str, folder: Path, monkeypatch: pytest.MonkeyPatch, weights: int = 10**9
) -> Iterator[None]:
    """Serve a folder as a repository; weights have the given size and must not be fetched."""
    contents = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    large = dict.fromkeys([name for name in contents if name.endswith((".safetensors", ".zip"))], weights)
    with serve_paths(make_repository(kind, repo, contents, large)) as (url, log):
        use_local_hub(url, monkeypatch)
        yield
    assert not [path for path in log.gets if path.endswith((".safetensors", ".zip"))], "no large file is fetched"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("models", "suites"):
        (tmp_path / "config" / name).mkdir(parents=True)
    shutil.copytree("config/benchmarks", tmp_path / "config/benchmarks")
    (tmp_path / "config/models/m.yaml").write_text(MODEL_FILE)
    (tmp_path / "config/suites/s.yaml").write_text(SUITE)
    return tmp_path


def break_template(folder: Path) -> None:
    (folder / "chat_template.jinja").write_text("{{ messages[0]['content'][0]['text'] }}")


UNSUPPORTED_MODELS: list[tuple[Callable[[Path], object], str]] = [
    (break_template, "do not show the model frames, neither as a video nor as images"),
    (lambda folder: (folder / "model.safetensors").rename(folder / "model.bin"), r"it holds no \*\.safetensors"),
    (lambda folder: (folder / "config.json").unlink(), r"it has no config\.json\. It holds"),
    (lambda folder: tiny.update_json(folder / "config.json", model_type="nosuch"), "model type `nosuch`"),
]


@pytest.mark.parametrize(
    ("damage", "message"), UNSUPPORTED_MODELS, ids=["blind template", "pickles", "no configuration", "class"]
)
def test_an_unsupported_model_repository_stays_unpinned(
    damage: Callable[[Path], object], message: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny.llava(tmp_path / "repository")
    damage(folder)
    with (
        serve_repository("model", MODEL, folder, monkeypatch, 145 * 10**9),
        pytest.raises(UserError, match=message) as caught,
    ):
        pin_files(root, ["m"])
    assert str(root / "config/models/m.yaml") in str(caught.value) and "--unchecked" in str(caught.value)
    if damage is break_template:
        assert "its weights are 145.0 GB, more than memory_mb: 2000" in str(caught.value), (
            "all problems are reported at once"
        )
    assert (root / "config/models/m.yaml").read_text() == MODEL_FILE


def test_a_supported_model_repository_is_pinned(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve_repository("model", MODEL, tiny.llava(tmp_path / "repository"), monkeypatch):
        pin_files(root, ["m"])
    pinned = MODEL_FILE.replace("unpinned", f"{REVISION}\nweights_bytes: {10**9}")
    assert (root / "config/models/m.yaml").read_text() == pinned
    capsys.readouterr()
    pin_files(root, ["m"])
    assert capsys.readouterr().out == "Nothing to pin: no revision is `unpinned` in config/models/m.yaml.\n"


def test_the_output_fits_a_terminal(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    outputs = []
    for width in (None, *WIDTHS):
        (root / "config/models/a-model-with-a-long-name.yaml").write_text(MODEL_FILE)
        resolve_commit.cache_clear()
        with serve_repository("model", MODEL, tiny.llava(tmp_path / f"repository-{width}"), monkeypatch):
            outputs.append(run_command("pin a-model-with-a-long-name", monkeypatch, width))
    piped, *shown = outputs
    for text, width in zip(shown, WIDTHS, strict=True):
        check_output(piped, text, width)
    assert "\n" in shown[0].strip() and REVISION in shown[0]


def test_a_dataset_is_checked_by_the_reader_of_its_benchmark(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "velociti.csv").write_text("video_id,caption\nx,x\n")
    (folder / "videos.zip").write_bytes(b"PK")
    with serve_repository("dataset", DATASET, folder, monkeypatch), pytest.raises(UserError) as caught:
        pin_files(root, ["s"])
    assert re.search(r"benchmarks\.velociti\.release: velociti\.csv: .*column", str(caught.value))
    (folder / "velociti.csv").rename(folder / "readme.txt")
    (folder / "videos.zip").rename(folder / "clips.zip")
    with serve_repository("dataset", DATASET, folder, monkeypatch), pytest.raises(UserError) as caught:
        pin_files(root, ["s"])
    message = str(caught.value)
    assert "benchmarks.velociti.release: no file is one of *.parquet, *.csv" in message
    assert "benchmarks.velociti.route.files: no file is 'videos.zip'. It holds clips.zip, readme.txt." in message
    assert (root / "config/suites/s.yaml").read_text() == SUITE
    with serve_repository("dataset", DATASET, folder, monkeypatch):
        pin_files(root, ["s"], unchecked=True, benchmarks=[])
        assert (root / "config/suites/s.yaml").read_text() == SUITE
        pin_files(root, ["s"], unchecked=True, benchmarks=["velociti"])
    assert (root / "config/suites/s.yaml").read_text() == SUITE.replace("unpinned", REVISION)
