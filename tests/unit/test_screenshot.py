"""The README's picture: small enough to be committed, or an error that says so."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import screenshot
from PIL import Image
from reprise.core.errors import UserError


def test_a_page_keeps_its_size_and_is_small_enough() -> None:
    ramp = np.broadcast_to(np.linspace(0, 255, 1280).astype(np.uint8)[None, :, None], (900, 1280, 3))
    content = screenshot.small_enough(Image.fromarray(ramp.copy()))
    assert Image.open(BytesIO(content)).size == (1280, 900) and len(content) <= screenshot.LARGEST


def test_a_picture_that_stays_too_large_is_refused() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (900, 1280, 3), dtype=np.uint8)
    with pytest.raises(UserError, match="more than 200000 bytes"):
        screenshot.small_enough(Image.fromarray(noise))


def test_without_a_report_the_message_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"items\.html: not found\. Run `make demo` first"):
        screenshot.taken(tmp_path, "items.html#b=velociti")


def test_without_a_browser_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "index.html").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt-get install chromium"):
        screenshot.taken(tmp_path, "index.html")
