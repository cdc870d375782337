"""Stage `preview`: draw the frames of a clip that a sampling selects, as the model receives them."""

import math
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import polars as pl

from reprise.core.errors import UserError, suggest_name
from reprise.core.files import atomic_path
from reprise.core.log import log
from reprise.core.schemas import FRAME_PLAN, read_table
from reprise.core.settings import Key
from reprise.core.store import Store
from reprise.media.decoder import arrange_grid, read_frames
from reprise.media.keys import FramesKey
from reprise.media.manifests import read_available_clips, report_damage, verify_clip_file
from reprise.media.probe import read_packet_index
from reprise.stages.command import In, Out, Site

Image = npt.NDArray[np.uint8]
# Pixels of a frame's width, of a line of text and between two frames; maximum number of frames in a row.
TILE_WIDTH, CAPTION_HEIGHT, GAP, MAX_COLUMNS = 240, 22, 6, 8
TEXT_COLOR, BACKGROUND = (30, 30, 30), 255  # RGB of the text, and grey value of the background


def draw_contact_sheet(path: Path, plan: dict[str, Any], title: str) -> Image:
    """Return a picture of the planned frames in order, each with its number and time, or of their image grid.

    The first two lines are the title, and the plan's note.
    """
    packet_index = read_packet_index(path)
    size = TILE_WIDTH, max(1, round(TILE_WIDTH * packet_index.height / packet_index.width))
    pictures = read_frames(path, plan["indices"], size)
    columns = min(MAX_COLUMNS, max(1, math.ceil(math.sqrt(len(pictures)))))
    rows = max(1, math.ceil(len(pictures) / columns))
    step_x, step_y = TILE_WIDTH + GAP, size[1] + CAPTION_HEIGHT + GAP
    grid = arrange_grid(pictures, *plan["grid"]) if plan["grid"] and plan["indices"] else None
    height, width = (rows * step_y, max(columns, 2) * step_x) if grid is None else grid.shape[:2]
    sheet = np.full(
        (height + 2 * CAPTION_HEIGHT + GAP, width + (GAP if grid is None else 2 * GAP), 3), BACKGROUND, np.uint8
    )
    _write_text(sheet, title, GAP, CAPTION_HEIGHT - 6)
    _write_text(sheet, plan["note"] or f"{len(pictures)} frames", GAP, 2 * CAPTION_HEIGHT - 6)
    if grid is not None:
        sheet[2 * CAPTION_HEIGHT : 2 * CAPTION_HEIGHT + height, GAP : GAP + width] = grid
        return sheet
    for position, (picture, frame_number, time_s) in enumerate(
        zip(pictures, plan["indices"], plan["times_s"], strict=True)
    ):
        left, top = GAP + position % columns * step_x, 2 * CAPTION_HEIGHT + position // columns * step_y
        sheet[top : top + size[1], left : left + size[0]] = picture
        _write_text(sheet, f"{frame_number}  {time_s:.2f} s", left, top + size[1] + CAPTION_HEIGHT - 6)
    return sheet


def write_sheet(sheet: Image, target: Path) -> None:
    """Write an RGB picture as PNG."""
    _, content = cv2.imencode(".png", cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR))
    with atomic_path(target) as temporary:
        temporary.write_bytes(content.tobytes())


def _write_text(sheet: Image, text: str, left: int, baseline: int) -> None:
    ascii_text = text.encode("ascii", "replace").decode()
    cv2.putText(sheet, ascii_text, (left, baseline), cv2.FONT_HERSHEY_SIMPLEX, 0.45, TEXT_COLOR, 1, cv2.LINE_AA)


def _find_clip_row(clips: pl.DataFrame, clip_id: str, location: str) -> dict[str, Any]:
    """Return the row of a clip; `location` names the table in the error message."""
    matches = clips.filter(pl.col("clip_id") == clip_id)
    if matches.is_empty():
        raise UserError(f"{location}: clip '{clip_id}' not found.{suggest_name(clip_id, clips['clip_id'])}")
    return dict(matches.row(0, named=True))


def main(
    settings: FramesKey,
    version: Key,
    frames: In[Path],
    manifests: In[list[Path]],
    store: Site[Store],
    clip: str,
    out: Out[Path],
) -> None:
    rule = settings.rule
    plan = _find_clip_row(read_table(frames, FRAME_PLAN), clip, str(frames))
    clip_row = _find_clip_row(read_available_clips(manifests), plan["shown_clip"] or clip, "the manifests of clips")
    parameters = {**rule, **rule.get("transform", {})}
    details = ", ".join(f"{key}={value}" for key, value in parameters.items() if key not in ("rule", "transform"))
    path = verify_clip_file(store, clip_row)
    with report_damage(path):
        sheet = draw_contact_sheet(path, plan, f"{clip}   {rule['rule']} {details}")
    write_sheet(sheet, out)
    log.info(f"{len(plan['indices'])} frames in {out}")
