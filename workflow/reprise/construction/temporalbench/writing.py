"""TemporalBench's negatives: what the writer is asked, which of its lines count, and the samples that they make."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.prompts import Prompt
from reprise.benchmarks.temporalbench.taxonomy import CATEGORIES
from reprise.construction.filters import Found, Row, Rows, Tables, grouped, kept, rank, repeated, sifted
from reprise.construction.settings import TemporalBenchSettings, writers_of
from reprise.construction.temporalbench.candidates import CATEGORY, EVENTS, WORDS, text_row
from reprise.construction.writing import FAILED, LIST_PROBLEMS, Rounds, UnusableError, opened, read_list, shown

CENTRAL = "central"  # level of the negatives of a negative
CENTRAL_COUNT = 2  # how many of them (section 3.3)
EVENT_ORDER = "Event Order"
WORD_CATEGORIES = tuple(name for name in CATEGORIES if name != EVENT_ORDER)
NEGATIVE_FILTERS = ("more_than_asked", "no_words", "unchanged", "in_prompt", "duplicate")
CATEGORY_PROBLEMS = ("no_category", "several_categories")
WRITTEN_FILTERS = (FAILED, *LIST_PROBLEMS, *NEGATIVE_FILTERS, *CATEGORY_PROBLEMS)
SAMPLE_FILTERS = (*NEGATIVE_FILTERS, "caption_again", "not_labelled")
BEFORE = re.compile(r"^\s*(?:Caption:|\d+\.)\s*", re.IGNORECASE)  # of a caption, or a negative, in a prompt
OF_CLIP = ("dataset", "video", "start_s", "end_s")
OF_NEGATIVE = ("sample_id", "clip", "level", "writer", "caption", "of", "negative", "category", "filter", "why")


def plain(text: str) -> str:
    """A caption without what does not change its meaning: case, spaces, punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def examples(prompts: Mapping[str, Prompt]) -> frozenset[str]:
    """The captions and negatives of both prompts for negatives, which are no negatives of another caption."""
    return frozenset(
        plain(BEFORE.sub("", line)) for name in (WORDS, EVENTS) for line in prompts[name].user.splitlines()
    )


class Listed(NamedTuple):
    """What a writer listed."""

    level: str
    writer: str
    most: int
    """how many it was asked for"""
    lines: list[str]


def as_negatives(clip: str, caption: str, lists: Sequence[Listed], known: Collection[str] = ()) -> list[Row]:
    """Every line of every list, each dropped one with its reason; of equal ones the first counts."""
    rows: list[Row] = []
    times: Counter[str] = Counter()
    for level, writer, most, lines in lists:
        for place, text in enumerate(lines, start=1):
            name = f"{clip}/{level}/{rank(0, text)[:10]}"
            times[name] += 1
            rows.append({
                "sample_id": name if times[name] == 1 else f"{name}/{times[name]}", "clip": clip, "level": level,
                "writer": writer, "caption": caption, "negative": text, "place": place, "most": most,
            })  # fmt: skip
    others = () if plain(caption) in known else known  # of the prompt's caption its examples are negatives
    found: dict[str, Found] = {
        "more_than_asked": lambda row: f"more than {row['most']}" if row["place"] > row["most"] else "",
        "no_words": lambda row: "" if plain(row["negative"]) else "it has no words",
        "unchanged": lambda row: "the caption itself" if plain(row["negative"]) == plain(caption) else "",
        "in_prompt": lambda row: "an example of the prompt" if plain(row["negative"]) in others else "",
        "duplicate": repeated(lambda row: plain(row["negative"]), "the same as one before"),
    }
    return sifted(rows, found)


def kept_words(rows: Iterable[Row]) -> list[Row]:
    """The negatives of a clip in which words are replaced, in the order of their digests."""
    left = [row for row in rows if row["level"] == WORDS and not row["filter"]]
    return sorted(left, key=lambda row: row["sample_id"])


def category_in(reply: str, prompt: str) -> str:
    text = opened(reply, prompt)
    named = [name for name in WORD_CATEGORIES if f" {plain(name)} " in f" {plain(text)} "]
    if not named:
        raise UnusableError("no_category", f"none of {', '.join(WORD_CATEGORIES)} in {shown(text)}")
    if len(named) > 1:
        raise UnusableError("several_categories", ", ".join(named))
    return named[0]


class Asked:
    """All rounds so far: the negatives by each writer, then what `writer:` is asked about those that are usable."""

    def __init__(
        self,
        tables: Tables,
        given: Sequence[pl.DataFrame],
        prompts: Mapping[str, Prompt],
        settings: TemporalBenchSettings,
    ) -> None:
        known, writers = examples(prompts), writers_of(settings)
        replies = {name: [one.filter(writer=name) for one in given] for name in writers}

        def read(text: Row, reply: str, prompt: str, written: Mapping[str, str]) -> tuple[str, str]:
            kind = text["kind"]
            if kind == CATEGORY:
                return category_in(reply, prompt), ""
            values = {one["name"]: one["text"] for one in text["values"]}
            level = CENTRAL if text["text_id"].startswith(f"{CENTRAL}/") else kind
            lists = [Listed(level, "", int(values["count"]), read_list(reply, prompt))]
            rows = as_negatives(text["video"], values["caption"], lists, known)
            # The prompt asks for the caption itself where there is one event only.
            is_one_event = kind == EVENTS and [row["filter"] for row in rows] == ["unchanged"]
            if all(row["filter"] for row in rows) and not is_one_event:
                raise UnusableError(rows[0]["filter"], rows[0]["why"])
            return reply, ""

        texts = tables["texts"].to_dicts()
        first = {name: Rounds(texts, replies[name], prompts, read) for name in writers}
        counts = {WORDS: settings.word_negatives, EVENTS: settings.event_negatives}
        self.negatives: list[Row] = []
        later: list[Row] = []
        for row in tables["texts"].filter(kind=WORDS).iter_rows(named=True):
            clip, caption = row["video"], next(one["text"] for one in row["values"] if one["name"] == "caption")
            lists = [
                Listed(kind, name, count, read_list(rounds.written[f"{kind}/{clip}"], ""))
                for kind, count in counts.items()
                for name, rounds in first.items()
                if f"{kind}/{clip}" in rounds.written
            ]
            self.negatives += as_negatives(clip, caption, lists, known)
        for row in self.negatives:
            if row["level"] == WORDS and not row["filter"]:
                name = f"{CATEGORY}/{row['sample_id']}"
                later.append(text_row(name, CATEGORY, row["clip"], caption=row["caption"], negative=row["negative"]))
        for clip, own in grouped(self.negatives, lambda row: row["clip"]).items():
            for row in kept_words(own)[: settings.central_tries]:
                name, count = central_name(clip, row["negative"]), str(CENTRAL_COUNT)
                later.append(text_row(name, WORDS, clip, caption=row["negative"], count=count))
        labelling = Rounds(later, replies[settings.writer], prompts, read)
        self.rounds = {name: [rounds] for name, rounds in first.items()}
        self.rounds[settings.writer].append(labelling)
        self.later = labelling.written
        self.written = [
            row | {"writer": name} for name, own in self.rounds.items() for rounds in own for row in rounds.table()
        ]


def central_name(clip: str, first: str) -> str:
    """Name of the list of negatives of one of a clip's negatives."""
    return f"{CENTRAL}/{clip}/{rank(0, first)[:10]}"


def requests(
    tables: Tables,
    given: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: TemporalBenchSettings,
    writer: str,
) -> list[Row]:
    asked = Asked(tables, given, prompts, settings)
    return [row for rounds in asked.rounds[writer] for row in rounds.requests(settings.max_tokens)]


def samples(
    tables: Tables, given: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: TemporalBenchSettings
) -> Rows:
    """Each negative of each caption with its category, and negatives of some; each dropped one with its reason."""
    asked, known = Asked(tables, given, prompts, settings), examples(prompts)
    clips = {row["clip"]: row for row in kept(tables["pool"]).iter_rows(named=True)}
    rows = []
    for row in asked.negatives:
        category = EVENT_ORDER if row["level"] == EVENTS else asked.later.get(f"{CATEGORY}/{row['sample_id']}", "")
        rows.append(row | {"category": category, "of": row["caption"]})
    by_clip = grouped(rows, lambda row: row["clip"])
    for clip, one in clips.items():
        rows += _central(clip, one["caption"], by_clip.get(clip, []), asked.later, known, settings.writer)
    problems = {row["text_id"]: f"{row['filter']}: {row['why']}" for row in asked.written if row["filter"]}

    def not_labelled(row: Mapping[str, str]) -> str:
        is_labelled = row["category"] or row["level"] == CENTRAL
        return "" if is_labelled else problems.get(f"{CATEGORY}/{row['sample_id']}", "not asked")

    found = sifted(rows, {"not_labelled": not_labelled})
    made = [
        {name: row[name] for name in OF_NEGATIVE} | {name: clips[row["clip"]][name] for name in OF_CLIP}
        for row in found
    ]
    return {"written": asked.written, "samples": made}


def _central(
    clip: str, caption: str, own: Sequence[Row], later: Mapping[str, str], known: frozenset[str], writer: str
) -> list[Row]:
    """Negatives of the clip's negatives, which must not lead back to the caption or to another negative."""
    others = {plain(row["negative"]) for row in own}

    def again(row: Mapping[str, str]) -> str:
        if plain(row["negative"]) == plain(caption):
            return "the caption that the negative was made of"
        return "another negative of the caption" if plain(row["negative"]) in others else ""

    rows: list[Row] = []
    for first in (row["negative"] for row in kept_words(own)):
        name = central_name(clip, first)
        lines = read_list(later[name], "") if name in later else []
        rows += [
            row | {"sample_id": f"{name}/{row['place']}", "caption": caption, "of": first, "category": ""}
            for row in as_negatives(clip, first, [Listed(CENTRAL, writer, CENTRAL_COUNT, lines)], known)
        ]
    return sifted(rows, {"caption_again": again})
