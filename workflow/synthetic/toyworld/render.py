"""Render scripts as single frames or as videos."""

import math
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile

import cv2
import numpy as np
import numpy.typing as npt
from reprise.core.errors import raise_if_ffmpeg_machine_fault
from reprise.core.files import atomic_path
from reprise.media.ffmpeg import QUIET, ffmpeg_executable

from synthetic.toyworld.poses import Pose, pose_at
from synthetic.toyworld.script import FPS, SIZE, SLOT_SECONDS, Figure, Scene, Script, Source
from synthetic.toyworld.sources import find_source

Image = npt.NDArray[np.uint8]
# Colour of an agent -> RGB.
PAINT = {
    "red": (222, 48, 44),
    "blue": (44, 92, 236),
    "green": (56, 186, 76),
    "yellow": (242, 222, 58),
    "purple": (168, 62, 206),
    "white": (246, 246, 246),
}
# Tone of a background -> RGB of its darker and lighter colour.
BACKDROPS = {
    "slate": ((84, 90, 104), (100, 106, 120)),
    "earth": ((120, 104, 88), (138, 120, 102)),
    "moss": ((70, 96, 84), (84, 112, 98)),
    "plum": ((98, 76, 98), (114, 90, 114)),
    "fog": ((138, 142, 146), (156, 160, 164)),
}
# With one thread and `bitexact`, two runs write the same bytes.
ENCODE = (
    "-c:v libx264 -preset veryfast -crf 16 -pix_fmt yuv420p -threads 1"
    " -fflags +bitexact -flags:v +bitexact -map_metadata -1 -movflags +faststart -f mp4"
)
SUBPIXEL = 4  # fractional bits of OpenCV's fixed-point coordinates
INK = (22, 22, 26)  # RGB of outlines


def _ring(count: int, radii: Sequence[float], turn: float) -> npt.NDArray[np.float64]:
    """Return points around the origin at equal angles, whose distances to it alternate between the radii."""
    angles = [turn + 2 * math.pi * i / count for i in range(count)]
    points = [(radii[i % len(radii)] * math.sin(a), -radii[i % len(radii)] * math.cos(a)) for i, a in enumerate(angles)]
    return np.array(points, dtype=np.float64)


_ARM = 0.36  # half the width of the cross's arms
_CROSS = [
    (-_ARM, -1.0), (_ARM, -1.0), (_ARM, -_ARM), (1.0, -_ARM), (1.0, _ARM), (_ARM, _ARM),
    (_ARM, 1.0), (-_ARM, 1.0), (-_ARM, _ARM), (-1.0, _ARM), (-1.0, -_ARM), (-_ARM, -_ARM),
]  # fmt: skip
# Shape -> points of its outline around the origin, in half-axes.
OUTLINES = {
    "circle": _ring(24, (0.98,), 0.0),
    "square": _ring(4, (1.22,), math.pi / 4),
    "triangle": np.array([(0.0, -1.0), (1.05, 0.95), (-1.05, 0.95)]),
    "star": _ring(10, (1.12, 0.46), 0.0),
    "cross": np.array(_CROSS),
}


@cache
def _backdrop(pattern: str, tone: str) -> Image:
    """Return the empty stage. The array is cached, so callers must copy it before they draw."""
    dark, light = (np.array(colour, dtype=np.float64) for colour in BACKDROPS[tone])
    rows, columns = np.mgrid[0:SIZE, 0:SIZE]
    if pattern == "stripes":
        share = ((rows // 16) % 2).astype(np.float64)
    elif pattern == "checker":
        share = ((rows // 16 + columns // 16) % 2).astype(np.float64)
    elif pattern == "gradient":
        share = rows / (SIZE - 1)
    else:
        share = np.full((SIZE, SIZE), 0.5)
    stage: Image = np.rint(dark + share[..., None] * (light - dark)).astype(np.uint8)
    return stage


def _fixed(points: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    """Convert fractions of the canvas to OpenCV's fixed-point pixels."""
    fixed: npt.NDArray[np.int32] = np.rint((points * SIZE - 0.5) * (1 << SUBPIXEL)).astype(np.int32)
    return fixed


def _draw_shadow(image: Image, figure: Figure, pose: Pose) -> None:
    """Draw the shadow on the floor, which shows how high a figure is."""
    centre = _fixed(np.array([pose.x, figure.floor]))
    axes = _fixed(np.array([pose.rx * 0.8, 0.022]))
    shade = tuple(int(value * 0.55) for value in image[0, 0])  # The corner has a colour of the background.
    cv2.ellipse(image, centre.tolist(), axes.tolist(), 0, 0, 360, shade, -1, cv2.LINE_AA, SUBPIXEL)


def _draw_figure(image: Image, figure: Figure, pose: Pose) -> None:
    """Draw the shape of a figure, filled or hollow."""
    cos, sin = math.cos(pose.angle), math.sin(pose.angle)
    rotation = np.array([[cos, sin], [-sin, cos]])
    scale = np.array([pose.rx, pose.ry])
    centre = np.array([pose.x, pose.y])
    outline = _fixed(OUTLINES[figure.agent.shape] @ rotation * scale + centre)
    paint = PAINT[figure.agent.colour]
    if pose.is_hollow:
        cv2.fillPoly(image, [outline], INK, cv2.LINE_AA, SUBPIXEL)
        cv2.polylines(image, [outline], True, paint, 3, cv2.LINE_AA, SUBPIXEL)
        return
    cv2.fillPoly(image, [outline], paint, cv2.LINE_AA, SUBPIXEL)
    cv2.polylines(image, [outline], True, INK, 2, cv2.LINE_AA, SUBPIXEL)
    # The mark makes rotations of symmetric shapes visible.
    mark = _fixed(np.array([0.0, -0.52]) @ rotation * scale + centre)
    size = max(1, round(0.22 * min(pose.rx, pose.ry) * SIZE * (1 << SUBPIXEL)))
    cv2.circle(image, mark.tolist(), size, INK, -1, cv2.LINE_AA, SUBPIXEL)


def _scene_at(script: Script, slot: int) -> Scene:
    """Return the background of a slot."""
    return next(scene for scene in reversed(script.scenes) if scene.slot <= slot)


def render_frame(script: Script, t: float) -> Image:
    """Return the RGB frame at `t` seconds, 128x128."""
    slot = min(max(int(t // SLOT_SECONDS), 0), script.slots - 1)
    u = min(max(t / SLOT_SECONDS - slot, 0.0), 1.0)
    scene = _scene_at(script, slot)
    image = _backdrop(scene.pattern, scene.tone).copy()
    poses = [(figure, pose_at(figure, u)) for figure in script.figures if figure.slot == slot]
    for figure, pose in poses:
        _draw_shadow(image, figure, pose)
    for figure, pose in reversed(poses):
        _draw_figure(image, figure, pose)
    return image


def render_source_frame(source: Source, t: float) -> Image:
    """Return the frame of a source at `t` seconds."""
    part = next((part for part in reversed(source.parts) if part.start <= t), source.parts[0])
    return render_frame(part.script, t - part.start)


def _render_frames(video: Script | Source) -> Iterator[Image]:
    """Yield all frames of a clip or a source."""
    for number in range(video.seconds * FPS):
        t = number / FPS
        yield render_frame(video, t) if isinstance(video, Script) else render_source_frame(video, t)


def _encode_command(path: Path) -> list[str]:
    """Return the ffmpeg command that encodes raw frames from stdin."""
    raw = f"-y -f rawvideo -pix_fmt rgb24 -s {SIZE}x{SIZE} -r {FPS} -i pipe:0"
    return [ffmpeg_executable(), *QUIET, *raw.split(), *ENCODE.split(), str(path)]


def write_video(video: Script | Source, path: Path) -> None:
    """Render a clip or a source to an mp4 file, atomically."""
    # ffmpeg reads the frames from a file. A pipe would take more time than the drawing, because its buffer is small.
    with atomic_path(path) as temporary, TemporaryFile() as frames:
        for frame in _render_frames(video):
            frames.write(frame.tobytes())
        frames.seek(0)
        process = subprocess.run(_encode_command(temporary), stdin=frames, capture_output=True, check=False)
        message = process.stderr.decode(errors="replace").strip()
        raise_if_ffmpeg_machine_fault(process.returncode, message, path)
        if process.returncode:
            raise RuntimeError(f"{path}: ffmpeg failed: {message}")


def render_source(source_id: str, path: Path) -> None:
    """Render one evaluation source to a video file."""
    write_video(find_source(source_id), path)
