"""Vinoground's pairs of captions: the conversation by which they are written, and the videos found for each caption."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import Prompt
from reprise.benchmarks.vinoground.taxonomy import HALVES
from reprise.construction.filters import KEPT, Found, Row, Rows, kept, rank, repeated, sifted
from reprise.construction.settings import VinogroundSettings
from reprise.construction.sheets import has_control
from reprise.construction.vinoground.retrieval import Vectors, Words, nearest, words
from reprise.construction.writing import REFUSALS, request, shown

FIRST, FOLLOW_UP = "pairs", "more"
QUOTES = '"“”„‟«»「」'
QUOTED = rf"[{QUOTES}]([^{QUOTES}]+)[{QUOTES}]"
PAIR = re.compile(rf"{QUOTED}\s*(?:vs\.?|versus|and|/|\|)\s*{QUOTED}", re.IGNORECASE)
PAIR_FILTERS = (
    "failed", "refusal", "no_pair", "unprintable", "in_prompt", "same_text", "other_words", "duplicate", "enough",
)  # fmt: skip
FOUND_FILTERS = ("same_video",)
SIDES = dict(zip(HALVES, ("positive", "negative"), strict=True))
PLACES = ("video", "source", "start_s", "end_s", "caption")


def requests(
    tables: Mapping[str, pl.DataFrame],
    given: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: VinogroundSettings,
) -> list[Row]:
    """The conversation so far and what is said next, until there are enough pairs, or after a failure."""
    found = pairs(given, prompts, settings)
    is_failed = any(row["filter"] == "failed" for row in found)
    if is_failed or sum(not row["filter"] for row in found) >= settings.pairs:
        return []
    said = [part for replies in given for text in replies["text"] for part in (text, prompts[FOLLOW_UP].user)]
    number, prompt = len(given) + 1, "\n\n".join([prompts[FIRST].user, *said])
    return [request(f"pairs/round{number}", number, prompts[FIRST].system, prompt, settings.max_tokens)]


def pairs(given: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: VinogroundSettings) -> list[Row]:
    """Every pair of every reply, each dropped one with its reason; a reply without a pair is a row too."""
    examples = {_words_of(*found) for found in PAIR.findall(prompts[FIRST].user)}
    wanted = iter(range(settings.pairs))

    def other_words(row: Mapping[str, Any]) -> str:
        one, other = (Counter(words(row[side])) for side in SIDES.values())
        return "" if one == other else f"not the same words: {', '.join(sorted((one - other) + (other - one)))}"

    def both(row: Mapping[str, Any]) -> frozenset[tuple[str, ...]]:
        return _words_of(row["positive"], row["negative"])

    found: dict[str, Found] = {
        "unprintable": lambda row: "control characters" if has_control(row["positive"] + row["negative"]) else "",
        "in_prompt": lambda row: "an example of the prompt" if both(row) in examples else "",
        "same_text": lambda row: (
            "both captions are the same" if words(row["positive"]) == words(row["negative"]) else ""
        ),
        "other_words": other_words,
        "duplicate": repeated(both, "the same pair as one before"),
        "enough": lambda row: f"more than {settings.pairs} pairs" if next(wanted, None) is None else "",
    }
    rows = [row for number, replies in enumerate(given, 1) for row in _of_round(number, replies)]
    return sifted(rows, found)


def _words_of(*captions: str) -> frozenset[tuple[str, ...]]:
    """The words of two captions, whichever comes first."""
    return frozenset(tuple(words(caption)) for caption in captions)


def _of_round(number: int, replies: pl.DataFrame) -> Iterator[Row]:
    nothing = {"pair": "", "round": number, "positive": "", "negative": ""}
    for reply in replies.iter_rows(named=True):
        text = reply["text"]
        found = PAIR.findall(text)
        if reply["error"]:
            yield {**nothing, "filter": "failed", "why": f"{reply['error']}: {reply['message']}"}
            continue
        if REFUSALS.match(text.strip()):
            yield {**nothing, "filter": "refusal", "why": shown(text)}
        elif not found:
            yield {**nothing, "filter": "no_pair", "why": f'nothing like "..." vs "..." in: {shown(text)}'}
        for one in found:
            positive, negative = (" ".join(caption.split()) for caption in one)
            name = rank(0, *sorted((positive, negative)))[:12]
            yield {"pair": name, "round": number, "positive": positive, "negative": negative}


def samples(
    tables: Mapping[str, pl.DataFrame],
    given: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: VinogroundSettings,
    vectors: Vectors | None = None,
) -> Rows:
    """The most similar captions of the pool for each caption; a video that was found before is dropped."""
    written = pairs(given, prompts, settings)
    asked = [(row["pair"], half, row[side]) for row in written if not row["filter"] for half, side in SIDES.items()]
    pool = kept(tables["pool"]).to_dicts()
    captions = [row["caption"] for row in pool]
    encode = vectors or Words(captions).encode
    results = nearest(encode([text for *_, text in asked]), encode(captions), settings.nearest)
    found = []
    for (pair, half, text), places in zip(asked, results, strict=True):
        seen: set[str] = set()
        for number, (place, similarity) in enumerate(places, 1):
            one = pool[place]
            name, is_known = f"{pair}/{half}/{one['video']}", one["video"] in seen
            seen.add(one["video"])
            found.append({
                "sample_id": f"{name}/{number}" if is_known else name, "pair": pair, "half": half, "text": text,
                "rank": number, "similarity": round(similarity, 6), **{column: one[column] for column in PLACES},
                **({"filter": "same_video", "why": "found by a more similar caption"} if is_known else KEPT),
            })  # fmt: skip
    return {"written": written, "samples": found}
