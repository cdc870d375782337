"""Benchmark reading, trimming and measuring videos, as ratios of CPU seconds within one run."""

import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
from reprise.media.decoder import iter_frames, read_frames
from reprise.media.ffmpeg import QUIET, ffmpeg_executable
from reprise.media.probe import read_packet_index
from reprise.media.sampling import plan_frames
from reprise.media.settings import Shots
from reprise.media.shots_and_motion import ANALYSIS_WIDTH, ShotCounter

from bench.rounds import Ratio, medians

SECONDS, SIZE, SMALL_SIZE = 10, (854, 480), (336, 336)  # Length and frame size of the clip, and size for a model.
LONG_SECONDS = 360
# (seconds, frames) -> maximum CPU time relative to a whole decode, for evenly spread frames and keyframes 5 s apart.
MAX_SHARE_OF_WHOLE = {(10, 8): 0.9, (10, 64): 1.0, (165, 8): 0.2, (165, 64): 0.75, (360, 8): 0.12, (360, 64): 0.55}
# Memory that a clip six times as long may add.
MEMORY_SLACK_MB = 20


def ratios(folder: Path) -> Iterator[Ratio]:
    """Yield every measured ratio with its bound."""
    clip = write_clip(folder / "clip.mp4", SECONDS, SIZE)
    yield from _reading(clip)
    yield from _shot_counting(clip)
    yield from _long_clips(folder)
    yield _memory(folder)


def _long_clips(folder: Path) -> Iterator[Ratio]:
    """Measure a few frames of long clips, where only the groups of pictures with planned frames are decoded."""
    for seconds in sorted({seconds for seconds, _ in MAX_SHARE_OF_WHOLE}):
        clip = write_clip(folder / f"whole{seconds}.mp4", seconds, (320, 180))
        index = read_packet_index(clip)
        calls: dict[str, Callable[[], object]] = {"whole": lambda clip=clip: deque(iter_frames(clip), maxlen=0)}
        for count in (8, 64):
            indices = plan_frames({"rule": "linspace", "frames": count}, index.frame_count, index.times).indices
            calls[str(count)] = lambda clip=clip, indices=indices: deque(iter_frames(clip, indices), maxlen=0)
        cpu_s = medians(calls, rounds=3)
        for count in (8, 64):
            name = f"{count} frames of {seconds} s / all of its frames"
            yield Ratio(name, cpu_s[str(count)] / cpu_s["whole"], MAX_SHARE_OF_WHOLE[seconds, count])


def _reading(clip: Path) -> Iterator[Ratio]:
    """Compare reading planned frames with a plain decode, and with a seek for each frame."""
    index = read_packet_index(clip)
    plans = {
        "64 frames": plan_frames({"rule": "linspace", "frames": 64}, index.frame_count, index.times).indices,
        "8 fps": plan_frames({"rule": "fps_mid", "fps": 8}, index.frame_count, index.times).indices,
    }
    for name, indices in plans.items():
        calls: dict[str, Callable[[], object]] = {
            "plain": lambda: _plain_decode(clip),
            # Frames are read one by one, as by `_seek_each`: an array of all frames would first have to be zeroed.
            "full": lambda indices=indices: deque(iter_frames(clip, indices), maxlen=0),
            "small": lambda indices=indices: read_frames(clip, indices, SMALL_SIZE),
            "seek": lambda indices=indices: _seek_each(clip, indices),
        }
        cpu_s = medians(calls)
        yield Ratio(f"read {name}, full size / ffmpeg -f null", cpu_s["full"] / cpu_s["plain"], 1.4)
        yield Ratio(f"read {name}, 336 pixels / ffmpeg -f null", cpu_s["small"] / cpu_s["plain"], 2.0)
        yield Ratio(f"seek for each of {name} / read {name}", cpu_s["seek"] / cpu_s["full"], 12, is_at_most=False)


def _shot_counting(clip: Path) -> Iterator[Ratio]:
    cpu_s = medians({"plain": lambda: _plain_decode(clip), "shots": lambda: _count_shots(clip)})
    yield Ratio("count shots / ffmpeg -f null", cpu_s["shots"] / cpu_s["plain"], 2.0)


def _memory(folder: Path) -> Ratio:
    """Measure how much more memory the decoding of a six times longer clip needs."""
    peaks = []
    for seconds in (LONG_SECONDS // 6, LONG_SECONDS):
        clip = write_clip(folder / f"long{seconds}.mp4", seconds, (320, 180))
        command = [sys.executable, "-m", "bench.media", str(clip)]
        process = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(float(process.stdout))
    return Ratio(
        f"MB more for {LONG_SECONDS} s than for {LONG_SECONDS // 6} s at 8 fps", peaks[1] - peaks[0], MEMORY_SLACK_MB
    )


def write_clip(path: Path, seconds: int, size: tuple[int, int]) -> Path:
    """Write a moving, noisy video with keyframes far apart."""
    source = f"testsrc2=s={size[0]}x{size[1]}:r=24:d={seconds},noise=alls=4:allf=t"
    command = [ffmpeg_executable(), *QUIET, "-f", "lavfi", "-i", source]
    command += ["-c:v", "libx264", "-preset", "veryfast", "-crf", "23", "-g", "120", "-bf", "3", "-pix_fmt", "yuv420p"]
    subprocess.run([*command, str(path)], check=True)
    return path


def _plain_decode(clip: Path) -> None:
    subprocess.run([ffmpeg_executable(), *QUIET, "-i", str(clip), "-f", "null", "-"], check=True)


def _seek_each(clip: Path, indices: tuple[int, ...]) -> None:
    """Read frames with OpenCV as many evaluation scripts do: seek to each frame."""
    capture = cv2.VideoCapture(str(clip))
    for index in indices:
        capture.set(cv2.CAP_PROP_POS_FRAMES, index)
        capture.read()


def _count_shots(clip: Path) -> int:
    """Count the shots of a clip as the workflow does."""
    index = read_packet_index(clip)
    counter = ShotCounter(Shots(), index.fps)
    for frame in iter_frames(
        clip,
        size=(ANALYSIS_WIDTH, round(ANALYSIS_WIDTH * index.height / index.width)),
        pixels="bgr24",
        scaling="BILINEAR",
    ):
        counter.add(frame.image)
    return counter.count_shots()


def _peak_memory_mb(clip: Path) -> float:
    """Return the peak memory of a process that decodes every planned frame of a clip and keeps none."""
    index = read_packet_index(clip)
    indices = plan_frames({"rule": "fps_mid", "fps": 8}, index.frame_count, index.times).indices
    for _ in iter_frames(clip, indices):
        continue
    # The peak of getrusage would include that of the parent process.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    print(_peak_memory_mb(Path(sys.argv[1])))
