"""A real vLLM on the processor, in the environment that the workflow's own rule makes, kept for the next time."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from reprise.core.store import Store
from reprise.models.local import torchvision_operators
from reprise.models.remote.serving.environment import build, pins_file
from reprise.models.remote.serving.host import Host
from reprise.models.remote.serving.settings import Hosting, ServedBy, Serving, hosting_of, serving_of
from safetensors.torch import load_file, save_file

ROOT = Path(__file__).parents[2]
CHECKPOINT = ROOT / "resources/demo/checkpoints/llava-ov-late"
NAME = "toy@1"
MINUTES = 15


@pytest.fixture(scope="session")
def engines() -> Store:
    """Where the engine is installed."""
    os.chdir(ROOT)
    store = Store(ROOT / ".cache" / "serve")
    (packages,) = (build("serve-cpu", store) / "lib").glob("python*/site-packages")
    # pip takes a torchvision for CUDA beside a torch for processors here too.
    shutil.copy(torchvision_operators.__file__, packages)
    (packages / "torchvision.pth").write_text("import torchvision_operators as one; one.declare_when_imported()\n")
    return store


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy checkpoint with the names that vLLM gives its vision tower's weights."""
    folder = tmp_path_factory.mktemp("weights") / "late"
    shutil.copytree(CHECKPOINT, folder)
    tensors = load_file(CHECKPOINT / "model.safetensors")
    renamed = {name.replace("vision_tower.", "vision_tower.vision_model."): one for name, one in tensors.items()}
    save_file(renamed, folder / "model.safetensors", {"format": "pt"})
    return folder


@pytest.fixture(scope="session")
def server(engines: Store) -> tuple[Serving, Hosting]:
    served = ServedBy(
        engine="vllm",
        environment="serve-cpu",
        arguments=["--enforce-eager", "--max-num-seqs", "8"],
        variables={"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"},
        start_minutes=MINUTES,
    )
    pins = engines.digest(pins_file(served.environment))
    serving = serving_of(served, pins, dtype="float32", gpus=0, trust_remote_code=False, is_video=True)
    return serving, hosting_of(served)


@pytest.fixture(scope="module")
def host(
    server: tuple[Serving, Hosting], weights: Path, engines: Store, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """A server that answers, as the settings by which it is reached."""
    log = tmp_path_factory.mktemp("logs") / "server.log"
    running = Host(*server, weights=weights, name=NAME, store=engines, log_file=log)
    try:
        yield running.start()
    finally:
        running.close()
