"""What the writer of VELOCITI's captions is asked in a round."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import Prompt
from reprise.construction.settings import VelocitiSettings
from reprise.construction.velociti.candidates import texts_needed
from reprise.construction.velociti.captions import CaptionReader
from reprise.construction.writing import Rounds


def rounds_of(
    tables: Mapping[str, pl.DataFrame], given: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt]
) -> Rounds:
    """All rounds so far, from the tables of the candidates and the replies."""
    texts = texts_needed(tables["texts"], tables["candidates"]).to_dicts()
    shown = {name: prompt.system or prompt.user for name, prompt in prompts.items()}
    reader = CaptionReader(set(tables["texts"]["agent"]), shown)
    return Rounds(texts, [replies.to_dicts() for replies in given], reader.read)


def requests(
    tables: Mapping[str, pl.DataFrame],
    given: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: VelocitiSettings,
) -> list[dict[str, Any]]:
    """The requests of the next round."""
    return rounds_of(tables, given, prompts).requests(prompts, settings.max_tokens)
