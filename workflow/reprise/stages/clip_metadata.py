"""Stage `clip_metadata`: measure each clip in one pass over its frames; results are cached by the clip's content."""

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
from reprise.media.manifests import read_available_clips, report_damage, verify_clip_file
from reprise.media.probe import read_packet_index
from reprise.media.shots_and_motion import ANALYSIS_WIDTH, MotionMeter, ShotCounter, describe_detector
from reprise.stages.command import In, Out, Site

MetadataRow = dict[str, Any]
"""column of `CLIP_METADATA` -> value"""


def measure_video(path: Path, settings: ClipMetadataKey) -> MetadataRow:
    """Decode a clip once, and return the columns of its metadata without id and digest."""
    packet_index = read_packet_index(path)
    shot_counter = ShotCounter(settings.shots, packet_index.fps)
    motion_meter = MotionMeter(settings.motion)
    black_frame_count = 0
    scale = min(1.0, ANALYSIS_WIDTH / packet_index.width)
    size = max(1, round(packet_index.width * scale)), max(1, round(packet_index.height * scale))
    for frame in iter_frames(path, size=size, pixels="bgr24", scaling="BILINEAR"):
        shot_counter.add(frame.image)
        grey = np.asarray(cv2.cvtColor(frame.image, cv2.COLOR_BGR2GRAY), np.uint8)
        black_frame_count += is_black(grey)
        if motion_meter.needs_frame(frame.time_s):
            motion_meter.add(frame.time_s, grey)
    mean_flow, median_flow = motion_meter.summarize_flow()
    # In a slide show few frames move, so its mean flow may be high although its median is 0.
    is_static = mean_flow < settings.motion.static_below or median_flow == 0.0
    return {
        "duration_s": packet_index.duration_s,
        "frames": packet_index.frame_count,
        "fps": packet_index.fps,
        "variable_rate": packet_index.is_variable_rate,
        "width": packet_index.width,
        "height": packet_index.height,
        "codec": packet_index.codec,
        "rotation": packet_index.orientation.rotation,
        "mirrored": packet_index.orientation.is_mirrored,
        "sample_aspect_ratio": packet_index.sample_aspect_ratio,
        "video_streams": packet_index.video_stream_count,
        "color_transfer": packet_index.color_transfer,
        "shots": shot_counter.count_shots(),
        "shot_detector": describe_detector(settings.shots),
        "motion": mean_flow,
        "motion_median": median_flow,
        "is_static": is_static,
        "black_share": black_frame_count / packet_index.frame_count,
    }


def read_or_measure(clip: dict[str, Any], store: Store, settings: ClipMetadataKey) -> MetadataRow:
    """Return the metadata of a clip from the store; measure the clip if its content or the settings are new."""
    digest = value_digest([clip["sha256"], settings.model_dump(), describe_detector(settings.shots)])
    path = store.path("clip_metadata", digest, ".json")
    metadata: MetadataRow | None = read_record(path)
    if metadata is None:
        video_path = verify_clip_file(store, clip)
        with report_damage(video_path):
            metadata = measure_video(video_path, settings)
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
    measure_clip = partial(read_or_measure, store=store, settings=settings)
    if threads > 1 and len(clips) > 1:
        with ProcessPoolExecutor(threads, mp_context=get_context("spawn")) as pool:
            rows = list(pool.map(measure_clip, clips, chunksize=4))
    else:
        rows = [measure_clip(clip) for clip in clips]
    write_table(pl.DataFrame(rows, schema=CLIP_METADATA), out, CLIP_METADATA)
    log.info(f"{len(rows)} clips measured")
