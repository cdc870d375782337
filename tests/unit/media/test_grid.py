"""Frames as one picture."""

import numpy as np
from reprise.media.grid import as_grid

from tests.unit.videos import barcode_frame, read_barcode


def test_frames_are_in_reading_order_with_nothing_between_them() -> None:
    frames = np.stack([barcode_frame(number, 24, 16) for number in range(1, 6)])
    picture = as_grid(frames, 2, 3)
    assert picture.shape == (32, 72, 3) and picture.dtype == np.uint8
    cells = [picture[row : row + 16, column : column + 24] for row in (0, 16) for column in (0, 24, 48)]
    assert [read_barcode(cell) for cell in cells[:5]] == [1, 2, 3, 4, 5]
    assert all(np.array_equal(cell, frame) for cell, frame in zip(cells, frames, strict=False))
    assert (cells[5] == 255).all(), "a cell without a frame is white"
