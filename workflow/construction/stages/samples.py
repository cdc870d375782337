"""Stage `construction_samples`: combine the writers' texts into samples, and filter both."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.store import Store
from reprise.models.local.embeddings import EmbeddingCheckpoint, embed
from reprise.stages.command import In, Out, Site

from construction.filters import Row, kept_rows
from construction.keys import SamplesKey
from construction.registry import load_step, read_replies, read_tables, write_tables
from construction.settings import CheckpointEncoder, VinogroundSettings


def main(
    settings: SamplesKey,
    tables: In[list[Path]],
    replies: In[list[Path]],
    store: Site[Store],
    out: Out[list[Path]],
) -> None:
    named_tables = read_tables(settings.settings.kind, tables)
    reply_tables = read_replies(replies)
    encoder_options = {}  # an argument that only Vinoground's step with a checkpoint takes
    if isinstance(settings.settings, VinogroundSettings) and isinstance(settings.settings.encoder, CheckpointEncoder):
        encoder_options["encode_texts"] = partial(embed_texts, str(settings.embedder), store, settings.settings.encoder)
    rows = load_step(settings.settings.kind, "samples")(
        named_tables, reply_tables, settings.prompts, settings.settings, **encoder_options
    )
    if replies:
        check_any_usable(rows["written"], replies[0].parents[1])
    for name, table in write_tables(settings.settings.kind, rows, out).items():
        drop_counts = Counter(table.filter(table["filter"] != "")["filter"])
        listed_counts = ", ".join(f"{count} {reason}" for reason, count in drop_counts.most_common())
        dropped = f"; dropped: {listed_counts}" if listed_counts else ""
        log.info(f"{name}: {table.height} rows, {kept_rows(table).height} kept{dropped}")


def check_any_usable(written: Sequence[Row], replies: Path) -> None:
    """Raise an error if no reply of any writer is usable, because annotators would have nothing to review."""
    problem_counts = Counter(row["filter"] for row in written)
    if not written or "" in problem_counts:
        return
    listed_counts = ", ".join(f"{count} {reason}" for reason, count in problem_counts.most_common())
    raise UserError(
        f"{replies}: no reply of the writer can be used: {listed_counts}. The first: {written[0]['why']}. Read "
        "docs/construction.md, 'What the writer may get wrong'; then name another `writer:`, or correct `prompts:`."
    )


def embed_texts(embedder: str, store: Store, encoder: CheckpointEncoder, texts: Sequence[str]) -> Any:
    """Return the embeddings of texts by the checkpoint with this digest; the store keeps each text's embedding."""
    embedding_of = embed(texts, embedder, store, EmbeddingCheckpoint(Path(encoder.folder), encoder.tokens))
    return np.stack([embedding_of[text] for text in texts]) if texts else np.zeros((0, 1), np.float32)
