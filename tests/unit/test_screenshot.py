"""The README's picture: small enough to be committed, or an error that says so."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import screenshot
from PIL import Image
from reprise.core.errors import UserError


def test_a_page_keeps_its_size_and_is_small_enough_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ramp = np.broadcast_to(np.linspace(0, 255, 320).astype(np.uint8)[None, :, None], (90, 320, 3))
    assert Image.open(BytesIO(screenshot.small_enough(Image.fromarray(ramp.copy())))).size == (320, 90)
    monkeypatch.setattr(screenshot, "LARGEST", 2000)
    noise = np.random.default_rng(0).integers(0, 256, (90, 320, 3), dtype=np.uint8)
    with pytest.raises(UserError, match="more than 2000 bytes"):
        screenshot.small_enough(Image.fromarray(noise))


def test_without_a_report_or_a_browser_the_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=r"items\.html: not found\. Run `make demo` first"):
        screenshot.taken(tmp_path, "items.html#b=velociti")
    (tmp_path / "index.html").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt-get install chromium"):
        screenshot.taken(tmp_path, "index.html")
