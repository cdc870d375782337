"""Show what a model saw: an item's frames in the planned order above those of an ablation, with both answers."""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from reprise.core.log import log
from reprise.core.paths import Results
from reprise.core.schemas import FRAME_PLAN, read_table
from reprise.media.decoder import iter_frames
from reprise.media.errors import MediaError
from reprise.media.probe import read_packet_index
from reprise.report.first_page import TEMPORAL, Highlight
from reprise.report.items import Clips, Items
from reprise.report.keys import ReportedBenchmark
from reprise.report.variants import Variant

FEW_FRAMES = 16  # A strip of more frames has smaller pictures, so that the first page stays small.
WIDTHS = (160, 104)  # widths of the pictures of few and of many frames, in pixels
JPEG_QUALITY = 72
MAX_STRIPS = 12  # items of a benchmark whose frames the report contains as pictures
MAX_SHOWN = 3  # filmstrips on the first page


class Strip(NamedTuple):
    """The frames of a clip side by side in one picture, in the order of the clip."""

    indices: list[int]
    width: int  # of a frame, in pixels
    height: int
    jpeg: bytes

    @property
    def address(self) -> str:
        """Return the picture as a data URI. A page on disk may not read the pixels of other files."""
        return f"data:image/jpeg;base64,{b64encode(self.jpeg).decode()}"


class FilmstripRow(NamedTuple):
    """The frames of one run, in the order in which the model gets them, and its answer."""

    title: str
    positions: list[int]  # position of each frame in the planned order, from 0
    answer: str
    is_right: bool


class Filmstrip(NamedTuple):
    """An item with its planned frames above those of an ablation."""

    clip: int  # index of the clip
    sampling: str  # of the planned frames
    benchmark: str  # title
    model: str  # label
    state: Mapping[str, str]  # state of the item browser that shows the item
    variants: list[Variant]
    strip: Strip
    rows: list[FilmstripRow]


@dataclass(frozen=True)
class FilmstripBuilder:
    """Build the filmstrips of a benchmark's items that a model answers right only in the planned order."""

    benchmark: ReportedBenchmark
    results: Results
    items: Items
    clips: Clips
    store: Path

    def build(
        self,
        highlights: Iterable[Highlight],
        columns: Iterable[Mapping[str, Any]],
        answers_by_run: Sequence[Mapping[int, str]],
        has_media: Sequence[bool],
    ) -> Iterator[Filmstrip]:
        """Yield one filmstrip per clip, those on which most models need the planned order first.

        Items whose texts differ in a few words take precedence, because their difference is easy to see.
        """
        highlight = next((highlight for highlight in highlights if highlight.state["show"] == TEMPORAL), None)
        if highlight is None:
            return
        index_by_run = {run.scored.name: index for index, run in enumerate(self.benchmark.runs)}
        runs = [index_by_run[highlight.state[name]] for name in ("run", "other")]
        samplings = [self.benchmark.runs[run].scored.run.sampling for run in runs]
        plans = [read_table(self.results.frames(self.benchmark.name, sampling), FRAME_PLAN) for sampling in samplings]
        indices_by_clip = [dict(plan.select("clip_id", "indices").iter_rows()) for plan in plans]
        marks = [run_columns.get("temporal", {}).get(highlight.state["metric"], "") for run_columns in columns]
        variants = {item: self.items.find_variants(item) for item in highlight.items if has_media[item]}

        def rank(item: int) -> tuple[bool, int]:
            is_marked = any(variant.is_right and variant.is_marked for variant in variants[item][:1])
            return not is_marked, -sum(signs[item : item + 1] == "1" for signs in marks)

        used_clips: set[str] = set()
        for item in sorted(variants, key=rank):
            clip_id = self.items.clip_ids[item]
            if clip_id in used_clips or len(used_clips) == MAX_STRIPS:
                continue
            position = self.clips.positions[clip_id]
            strip = read_strip(self.store / self.clips.find_object(position), indices_by_clip[0][clip_id])
            if strip is None:
                continue
            used_clips.add(clip_id)
            yield Filmstrip(
                position,
                samplings[0],
                self.benchmark.title,
                self.benchmark.runs[runs[0]].label,
                highlight.state | {"item": self.items.ids[item]},
                variants[item],
                strip,
                [
                    FilmstripRow(
                        sampling.rpartition(".")[2] if row else "planned",
                        [strip.indices.index(index) for index in indices[clip_id]],
                        *describe_answers(answers_by_run[run][item]),
                    )
                    for row, (run, sampling, indices) in enumerate(zip(runs, samplings, indices_by_clip, strict=True))
                ],
            )


def read_strip(path: Path, indices: Sequence[int]) -> Strip | None:
    """Return the strip of a clip's frames, or None if the clip cannot be decoded."""
    distinct_indices = sorted(set(indices))
    width = WIDTHS[len(distinct_indices) > FEW_FRAMES]
    try:
        packet_index = read_packet_index(path)
        height = max(1, round(width * packet_index.height / packet_index.width))
        frames = list(
            iter_frames(path, distinct_indices, (width, height), scaling="BILINEAR", packet_index=packet_index)
        )
    except (MediaError, OSError) as error:
        log.warning(f"{path}: the report has no pictures of its frames: {error}")
        return None
    picture = Image.new("RGB", (width * len(frames), height))
    for position, frame in enumerate(frames):
        picture.paste(Image.fromarray(frame.image), (width * position, 0))
    content = BytesIO()
    picture.save(content, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return Strip(distinct_indices, width, height, content.getvalue())


def describe_answers(encoded_answers: str) -> tuple[str, bool]:
    """Return the answers to an item on one line, from their JSON, and whether all of them are right."""
    answers = json.loads(encoded_answers)
    extractions: list[dict[str, Any]] = [next(iter(answer.get("extractions", {}).values()), {}) for answer in answers]
    values = [
        extraction.get("value") or answer.get("text") or answer.get("error") or "unparsed"
        for answer, extraction in zip(answers, extractions, strict=True)
    ]
    if len(values) > 1:
        values = [f"{answer['role']}: {value}" for answer, value in zip(answers, values, strict=True)]
    return ", ".join(values), all(extraction.get("right", False) for extraction in extractions)


def select_shown(filmstrips: Mapping[str, Sequence[Filmstrip]]) -> list[Filmstrip]:
    """Return the filmstrips of the first page: the strongest of each benchmark, then the second of each, and so on."""
    rounds: Any = zip_longest(*filmstrips.values())
    return [filmstrip for filmstrip in chain.from_iterable(rounds) if filmstrip is not None][:MAX_SHOWN]
