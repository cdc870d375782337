"""Frames as one picture."""

import numpy as np
import numpy.typing as npt

Picture = npt.NDArray[np.uint8]
WHITE = 255


def as_grid(frames: Picture, rows: int, columns: int) -> Picture:
    """Frames (n, height, width, 3) in reading order, nothing between them, as IG-VLM's; a cell without one is white."""
    count, height, width, colours = frames.shape
    cells = np.full((rows * columns, height, width, colours), WHITE, np.uint8)
    cells[:count] = frames
    in_rows = cells.reshape(rows, columns, height, width, colours).swapaxes(1, 2)
    return in_rows.reshape(rows * height, columns * width, colours)
