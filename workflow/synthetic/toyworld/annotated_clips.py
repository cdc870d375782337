"""Write raw annotations for the construction of TemporalBench: clips of seven data sets, most with captions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.core.files import write_text

from synthetic.toyworld.captions import caption as sentence
from synthetic.toyworld.generate import EVALUATION_SEED, Dice, evaluation_sources
from synthetic.toyworld.script import Part, Source
from synthetic.toyworld.temporalbench import DATASETS, caption, sample_events

FILE = "temporalbench_annotations.json"
DATASET_WITH_DETAILED_DESCRIPTIONS = "FineGym"
"""Data set whose original descriptions are as detailed as captions."""
TRAINING_SOURCE = 15
"""Number of the source in the training split, which the construction must not use."""


def annotations() -> list[dict[str, Any]]:
    """Return the annotations of all clips. Each source also has a static part and a part that is too long."""
    dice = Dice(EVALUATION_SEED, 4_000_000)
    return [row for number, source in enumerate(evaluation_sources()) for row in _annotate_source(number, source, dice)]


def _annotate_source(number: int, source: Source, dice: Dice) -> Iterator[dict[str, Any]]:
    split = "train" if number == TRAINING_SOURCE else ("validation", "test")[number % 2]
    common = {"dataset": DATASETS[number % len(DATASETS)], "split": split, "video": source.source_id}
    yield {**common, "start": 0, "end": source.seconds, "description": "All of it.", "caption": ""}
    static_part = next(part for part in source.parts if not part.is_clip)
    yield {**common, **_span(static_part), "description": "Nobody moves.", "caption": ""}
    for part in source.parts:
        if part.is_clip:
            first, second = sample_events(part.script, dice)
            full_caption = caption((first.deed, second.deed))
            is_described = common["dataset"] == DATASET_WITH_DETAILED_DESCRIPTIONS
            description = full_caption if is_described else sentence(*first.deed)
            yield {**common, **_span(part), "description": description, "caption": "" if is_described else full_caption}


def _span(part: Part) -> dict[str, int]:
    return {"start": part.start, "end": part.start + part.script.seconds}


def write_annotations(folder: Path) -> None:
    """Write the annotations into the folder of the release."""
    write_text(folder / FILE, json.dumps(annotations(), indent=1, ensure_ascii=False) + "\n")
