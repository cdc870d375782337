"""Stage `clip_metadata`: measure the metadata of each clip in one pass over its frames, cached by its content."""

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl

from reprise.core.files import read_record, value_digest, write_record
from reprise.core.log import log
from reprise.core.schemas import CLIP_METADATA, write_table
from reprise.core.store import Store
from reprise.media.black import is_black
from reprise.media.decoder import iter_frames
from reprise.media.keys import ClipMetadataKey
from reprise.media.manifests import clip_file, read_available_clips, report_damage
from reprise.media.probe import read_packet_index
from reprise.media.shots_and_motion import WIDTH, MotionMeter, ShotCounter, detector_name
from reprise.stages.command import In, Out, Site

MetadataRow = dict[str, Any]


def measure_video(path: Path, key: ClipMetadataKey) -> MetadataRow:
    index = read_packet_index(path)
    shots, motion, black = ShotCounter(key.shots, index.fps), MotionMeter(key.motion), 0
    scale = min(1.0, WIDTH / index.width)
    size = max(1, round(index.width * scale)), max(1, round(index.height * scale))
    for frame in iter_frames(path, size=size, pixels="bgr24", scaling="BILINEAR"):
        shots.add(frame.image)
        grey = np.asarray(cv2.cvtColor(frame.image, cv2.COLOR_BGR2GRAY), np.uint8)
        black += is_black(grey)
        if motion.needs_frame(frame.time_s):
            motion.add(frame.time_s, grey)
    mean, median = motion.flow()
    return {
        "duration_s": index.duration_s,
        "frames": index.frames,
        "fps": index.fps,
        "variable_rate": index.variable_rate,
        "width": index.width,
        "height": index.height,
        "codec": index.codec,
        "rotation": index.orientation.rotation,
        "mirrored": index.orientation.is_mirrored,
        "sample_aspect_ratio": index.sample_aspect_ratio,
        "video_streams": index.video_streams,
        "color_transfer": index.color_transfer,
        "shots": shots.shots(),
        "shot_detector": detector_name(key.shots),
        "motion": mean,
        "motion_median": median,
        "is_static": mean < key.motion.static_below or median == 0.0,  # There is little motion, or it is a slide show.
        "black_share": black / index.frames,
    }


def get_or_measure(clip: dict[str, Any], store: Store, key: ClipMetadataKey) -> MetadataRow:
    """Return the metadata of a clip, measured once per content, settings and version of the code."""
    digest = value_digest([clip["sha256"], key.model_dump(), detector_name(key.shots)])
    path = store.path("clip_metadata", digest, ".json")
    metadata: MetadataRow | None = read_record(path)
    if metadata is None:
        video = clip_file(store, clip)
        with report_damage(video):
            metadata = measure_video(video, key)
        write_record(path, metadata)
    return {"clip_id": clip["clip_id"], **metadata, "sha256": clip["sha256"]}


def main(
    settings: ClipMetadataKey,
    manifests: In[list[Path]],
    store: Site[Store],
    threads: int,
    out: Out[Path],
) -> None:
    clips = list(read_available_clips(manifests).iter_rows(named=True))
    measure_clip = partial(get_or_measure, store=store, key=settings)
    if threads > 1 and len(clips) > 1:
        with ProcessPoolExecutor(threads, mp_context=get_context("spawn")) as pool:
            rows = list(pool.map(measure_clip, clips, chunksize=4))
    else:
        rows = [measure_clip(clip) for clip in clips]
    write_table(pl.DataFrame(rows, schema=CLIP_METADATA), out, CLIP_METADATA)
    log.info(f"{len(rows)} clips measured")
