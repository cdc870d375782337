"""Raw annotations for the construction of TemporalBench: clips of seven data sets, most of them with captions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.core.files import write_text

from synthetic.toyworld.captions import caption as sentence
from synthetic.toyworld.generate import EVALUATION_SEED, Dice, evaluation_sources
from synthetic.toyworld.script import Part, Source
from synthetic.toyworld.temporalbench import DATASETS, caption, statement

FILE = "temporalbench_annotations.json"
DESCRIBED = "FineGym"
"""The data set whose original descriptions are as detailed as captions."""
TRAINING_SOURCE = 15
"""A source of the training split, which the construction must not use."""


def annotations() -> list[dict[str, Any]]:
    """Return all clips, and for each source a static part and the whole source, which is too long."""
    dice = Dice(EVALUATION_SEED, 4_000_000)
    return [row for number, source in enumerate(evaluation_sources()) for row in _of_source(number, source, dice)]


def _of_source(number: int, source: Source, dice: Dice) -> Iterator[dict[str, Any]]:
    split = "train" if number == TRAINING_SOURCE else ("validation", "test")[number % 2]
    common = {"dataset": DATASETS[number % len(DATASETS)], "split": split, "video": source.source_id}
    yield {**common, "start": 0, "end": source.seconds, "description": "All of it.", "caption": ""}
    still = next(part for part in source.parts if not part.is_clip)
    yield {**common, **_span(still), "description": "Nobody moves.", "caption": ""}
    for part in source.parts:
        if part.is_clip:
            first, second = statement(part.script, dice)
            full_caption = caption((first.deed, second.deed))
            is_described = common["dataset"] == DESCRIBED
            description = full_caption if is_described else sentence(*first.deed)
            yield {**common, **_span(part), "description": description, "caption": "" if is_described else full_caption}


def _span(part: Part) -> dict[str, int]:
    return {"start": part.start, "end": part.start + part.script.seconds}


def write_annotations(folder: Path) -> None:
    """Write the annotations into the folder of the release."""
    write_text(folder / FILE, json.dumps(annotations(), indent=1, ensure_ascii=False) + "\n")
