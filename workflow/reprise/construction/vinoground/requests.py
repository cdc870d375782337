"""The conversation by which caption pairs are written: the prompt, then its follow-up until there are enough."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import Prompt
from reprise.construction.draws import rank
from reprise.construction.filters import Filter, Row, sifted
from reprise.construction.replies import REFUSALS, shown
from reprise.construction.settings import VinogroundSettings
from reprise.construction.sheets import has_control

FIRST, FOLLOW_UP = "pairs", "more"
QUOTES = '"“”„‟«»「」'
QUOTED = rf"[{QUOTES}]([^{QUOTES}]+)[{QUOTES}]"
PAIR = re.compile(rf"{QUOTED}\s*(?:vs\.?|versus|and|/|\|)\s*{QUOTED}", re.IGNORECASE)
PAIR_FILTERS = ("failed", "refusal", "no_pair", "unprintable", "in_prompt", "same_text", "other_words", "duplicate")


def words(text: str) -> list[str]:
    """The words of a caption, in their order."""
    return re.findall(r"[a-z0-9']+", text.lower())


def _both(positive: str, negative: str) -> frozenset[tuple[str, ...]]:
    """The words of two captions, whichever comes first."""
    return frozenset((tuple(words(positive)), tuple(words(negative))))


def pairs(given: Sequence[pl.DataFrame], prompt: str) -> list[Row]:
    """Every pair of every reply, each dropped one with its reason; a reply without a pair is a row too."""
    examples = {_both(*found) for found in PAIR.findall(prompt)}
    rows = [row for number, replies in enumerate(given, 1) for row in _of_round(number, replies)]
    seen: set[frozenset[tuple[str, ...]]] = set()

    def duplicate(row: Mapping[str, Any]) -> str:
        both = _both(row["positive"], row["negative"])
        is_known = both in seen
        seen.add(both)
        return "the same pair as one before" if is_known else ""

    def other_words(row: Mapping[str, Any]) -> str:
        one, other = (Counter(words(row[side])) for side in ("positive", "negative"))
        return "" if one == other else f"not the same words: {', '.join(sorted((one - other) + (other - one)))}"

    def same_text(row: Mapping[str, Any]) -> str:
        return "both captions are the same" if words(row["positive"]) == words(row["negative"]) else ""

    def in_prompt(row: Mapping[str, Any]) -> str:
        return "an example of the prompt" if _both(row["positive"], row["negative"]) in examples else ""

    def unprintable(row: Mapping[str, Any]) -> str:
        return "control characters" if has_control(row["positive"] + row["negative"]) else ""

    found = {
        "unprintable": unprintable, "in_prompt": in_prompt, "same_text": same_text, "other_words": other_words,
        "duplicate": duplicate,
    }  # fmt: skip
    return sifted(rows, [Filter(name, found[name]) for name in PAIR_FILTERS if name in found])


def _of_round(number: int, replies: pl.DataFrame) -> Iterator[Row]:
    for reply in replies.iter_rows(named=True):
        text, nothing = reply["text"], {"pair": "", "round": number, "positive": "", "negative": ""}
        found = PAIR.findall(text)
        if reply["error"]:
            yield {**nothing, "filter": "failed", "why": f"{reply['error']}: {reply['message']}"}
        elif REFUSALS.match(text.strip()):
            yield {**nothing, "filter": "refusal", "why": shown(text)}
        elif not found:
            yield {**nothing, "filter": "no_pair", "why": f'nothing like "..." vs "..." in: {shown(text)}'}
        for one, other in found if not reply["error"] else ():
            both = (" ".join(one.split()), " ".join(other.split()))
            name = rank(0, *sorted(both))[:12]
            yield {"pair": name, "round": number, "positive": both[0], "negative": both[1]}


def chosen(given: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: VinogroundSettings) -> list[Row]:
    """The pairs; those beyond the wanted number are dropped."""
    left = settings.pairs
    rows = []
    for row in pairs(given, prompts[FIRST].user):
        if not row["filter"]:
            left -= 1
        is_more = not row["filter"] and left < 0
        rows.append({**row, "filter": "enough", "why": f"more than {settings.pairs} pairs"} if is_more else row)
    return rows


def requests(
    tables: Mapping[str, pl.DataFrame],
    given: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: VinogroundSettings,
) -> list[dict[str, Any]]:
    """The conversation so far and what is said next; nothing once there are enough pairs, or after a failure."""
    found = pairs(given, prompts[FIRST].user)
    is_failed = any(row["filter"] == "failed" for row in found)
    if is_failed or sum(not row["filter"] for row in found) >= settings.pairs:
        return []
    said = [text for replies in given for text in replies["text"]]
    more = prompts[FOLLOW_UP].user
    parts = [prompts[FIRST].user, *(part for text in said for part in (text, more))]
    number = len(given) + 1
    name = f"pairs/round{number}"
    return [{
        "request_id": name, "item_id": name, "clip_id": name, "role": str(number), "ask": "write",
        "system": prompts[FIRST].system, "prompt": "\n\n".join(parts), "options": [], "option_texts": [],
        "expected": "", "max_tokens": settings.max_tokens,
    }]  # fmt: skip
