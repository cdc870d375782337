"""TemporalBench's clips, which ones the filters leave (3.1, 3.2), and the negatives that writers make of captions."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from human_evaluation.draws import rank
from reprise.benchmarks.prompts import Prompt
from reprise.benchmarks.rows import Clip, grouped
from reprise.benchmarks.temporalbench.taxonomy import CATEGORIES
from reprise.core.errors import UserError
from reprise.core.names import seconds
from reprise.core.plain import number_in
from reprise.core.tabular import read_own_rows, require_columns, text_of

from construction.filters import Found, Row, Rows, Tables, beyond_draw, kept, repeated, sifted
from construction.settings import TemporalBenchSettings, writers_of
from construction.sheets import ENDING, NAME, has_control
from construction.writing import Rounds, UnusableError, opened, read_list, shown

OF_DATASET = "clips of this data set"
LONGEST_CAPTION = 2000  # characters; the paper's have about 250
# Of the annotations, which are our own: how the paper's authors call theirs is not known.
NEEDED = ("dataset", "split", "video", "start", "end", "description", "caption")
REFINED = "refined"  # the caption as it was corrected; the column may be missing
SAID = ("split", "description", "caption", REFINED)  # the columns whose texts add up
WORDS, EVENTS, CATEGORY = "words", "events", "category"
"""the prompts; a negative of a negative is asked for by the first one too"""


class Annotated(NamedTuple):
    """A clip, with all that the annotations say of it."""

    dataset: str
    video: str
    start_s: float | None
    end_s: float | None
    said: Mapping[str, list[str]]  # column -> the different texts of all its rows

    @property
    def clip(self) -> Clip:
        """As the evaluation names it and cuts it; sound is not taken along."""
        unit, start, end = f"{self.dataset}/{self.video}", self.start_s or 0.0, self.end_s or 0.0
        return Clip(f"{unit}.short-{seconds(start)}-{seconds(end)}", unit, "trim", self.video, start, end)


def clips(files: Mapping[str, Path], settings: TemporalBenchSettings) -> list[Clip]:
    found = read_clips(files)
    wanted = zip(found, annotated_rows(found, settings), strict=True)
    return list({one.clip.clip_id: one.clip for one, row in wanted if not row["filter"]}.values())


def read_clips(files: Mapping[str, Path]) -> list[Annotated]:
    """The clips of all files; rows of one clip add up, so that captions may come in files of their own."""
    found: dict[tuple[Any, ...], Annotated] = {}
    for path in files.values():
        table = read_own_rows(path)
        require_columns(table, NEEDED, path)
        for number, row in enumerate(table.iter_rows(named=True), start=1):
            where = {name: f"{path}: row {number}: {name}" for name in (*NEEDED, REFINED)}
            text = {name: text_of(row.get(name), place) for name, place in where.items()}
            start, end = (_seconds(text[name], where[name]) for name in ("start", "end"))
            clip = (text["dataset"], ENDING.sub("", text["video"]), start, end)
            said = found.setdefault(clip, Annotated(*clip, {key: [] for key in SAID})).said
            for key, texts in said.items():
                if text[key] and text[key] not in texts:
                    texts.append(text[key])
    if not found:
        raise UserError(f"annotations of TemporalBench: no clips in {', '.join(sorted(files)) or 'no file'}.")
    return list(found.values())


def _seconds(text: str, where: str) -> float | None:
    value = number_in(text)
    if text and (value is None or value < 0):
        raise UserError(f"{where}: should be a number of seconds, found '{text}'.")
    return value


def annotated_rows(found: Sequence[Annotated], settings: TemporalBenchSettings) -> list[Row]:
    """A row a clip, with the filter that drops it before it is measured."""
    rows, longest = [], settings.longest_s
    for one in found:
        refined, is_described = one.said[REFINED], one.dataset in settings.described
        rows.append({
            "clip": one.clip.clip_id, "dataset": one.dataset, "split": "".join(one.said["split"][:1]),
            "video": one.video, "start_s": one.start_s, "end_s": one.end_s,
            "description": "".join(one.said["description"][:1]),
            "captions": one.said["description"] if is_described else refined or one.said["caption"],
            "is_refined": bool(refined) and not is_described, "seconds": None, "shots": None, "motion": None,
        })  # fmt: skip
    of_annotations: dict[str, Found] = {
        "other_dataset": lambda row: "" if row["dataset"] in settings.datasets else f"'{row['dataset']}'",
        "other_split": lambda row: "" if row["split"] in settings.splits else f"'{row['split']}'",
        "bad_name": lambda row: "" if NAME.fullmatch(row["video"]) else f"'{row['video']}' cannot be a file's name",
        "no_span": lambda row: (
            ""
            if None not in (row["start_s"], row["end_s"]) and 0 <= row["start_s"] < row["end_s"]
            else f"from {row['start_s']} to {row['end_s']}"
        ),
        "too_long": lambda row: (
            f"{row['end_s'] - row['start_s']:g} s, more than {longest:g}"
            if row["end_s"] - row["start_s"] > longest
            else ""
        ),
    }
    rows = sifted(rows, of_annotations)
    beyond = beyond_draw(rows, ("dataset",), "clip", settings.measured, settings.seed, OF_DATASET)
    return sifted(rows, {"not_measured": beyond})


def candidates(files: Mapping[str, Path], settings: TemporalBenchSettings, facts: pl.DataFrame) -> Rows:
    """All clips of the annotations, each dropped one with its reason, and what is asked about the others."""
    measured = {row["clip_id"]: row for row in facts.iter_rows(named=True)}
    rows = annotated_rows(read_clips(files), settings)
    wanted = [row["clip"] for row in rows if not row["filter"]]
    if wanted and not any(clip in measured for clip in wanted):
        raise UserError(
            f"construction of temporalbench: not one video of its {len(wanted)} clips is available, among them "
            f"'{wanted[0]}'. `python -m reprise missing` says why; correct `route:` or the files' names."
        )
    columns = {"seconds": "duration_s", "shots": "shots", "motion": "motion"}
    rows = [
        row | {name: measured[row["clip"]][of] for name, of in columns.items() if row["clip"] in measured}
        for row in rows
    ]
    most, missing = settings.transitions, "see `python -m reprise missing`"
    of_clips: dict[str, Found] = {
        "not_available": lambda row: "" if row["clip"] in measured else missing,
        "static": lambda row: f"optical flow of {row['motion']:.3f} %" if measured[row["clip"]]["is_static"] else "",
        "scene_transitions": lambda row: (
            f"{row['shots'] - 1} transitions, more than {most}" if row["shots"] - 1 > most else ""
        ),
    }
    rows = sifted(rows, of_clips)
    of_captions: dict[str, Found] = {
        "not_drawn": beyond_draw(rows, ("dataset",), "clip", settings.per_dataset, settings.seed, OF_DATASET),
        "no_caption": lambda row: "" if row["captions"] else "nobody has described it yet",
        "two_captions": lambda row: "" if len(row["captions"]) == 1 else f"{len(row['captions'])} different captions",
        "unprintable": lambda row: "control characters" if has_control(row["captions"][0]) else "",
        "long_caption": lambda row: (
            f"{length} characters, more than {LONGEST_CAPTION}"
            if (length := len(row["captions"][0])) > LONGEST_CAPTION
            else ""
        ),
    }
    rows = sifted(rows, of_captions)
    counts = {WORDS: settings.word_negatives, EVENTS: settings.event_negatives}
    texts = [
        text_row(f"{kind}/{row['clip']}", kind, row["clip"], caption=row["captions"][0], count=str(count))
        for row in rows
        if not row["filter"]
        for kind, count in counts.items()
    ]
    return {"pool": [row | {"caption": " / ".join(row["captions"])} for row in rows], "texts": texts, "candidates": []}


def text_row(text_id: str, kind: str, clip: str, **values: str) -> Row:
    return {
        "text_id": text_id, "kind": kind, "video": clip, "agent": "", "known": [], "instead_of": "",
        "values": [{"name": name, "text": text} for name, text in values.items()],
    }  # fmt: skip


CENTRAL = "central"  # level of the negatives of a negative
CENTRAL_COUNT = 2  # how many of them (section 3.3)
EVENT_ORDER = "Event Order"
WORD_CATEGORIES = tuple(name for name in CATEGORIES if name != EVENT_ORDER)
BEFORE = re.compile(r"^\s*(?:Caption:|\d+\.)\s*", re.IGNORECASE)  # of a caption, or a negative, in a prompt
OF_NEGATIVE = ("sample_id", "clip", "level", "writer", "caption", "of", "negative", "category", "filter", "why")


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def examples(prompts: Mapping[str, Prompt]) -> frozenset[str]:
    """The captions and negatives of both prompts for negatives, which are no negatives of another caption."""
    return frozenset(
        plain(BEFORE.sub("", line)) for name in (WORDS, EVENTS) for line in prompts[name].user.splitlines()
    )


Listed = tuple[str, str, int, list[str]]  # level, writer, how many it was asked for, and its lines


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
            lists = [(level, "", int(values["count"]), read_list(reply, prompt))]
            rows = as_negatives(text["video"], values["caption"], lists, known)
            # The prompt asks for the caption itself where there is one event only.
            is_one_event = kind == EVENTS and [row["filter"] for row in rows] == ["unchanged"]
            if all(row["filter"] for row in rows) and not is_one_event:
                raise UnusableError(rows[0]["filter"], rows[0]["why"])
            return reply, ""

        first = {name: Rounds(tables["texts"].to_dicts(), replies[name], prompts, read) for name in writers}
        counts = {WORDS: settings.word_negatives, EVENTS: settings.event_negatives}
        self.negatives: list[Row] = []
        labels: list[Row] = []
        central: list[Row] = []
        for row in tables["texts"].filter(kind=WORDS).iter_rows(named=True):
            clip, caption = row["video"], next(one["text"] for one in row["values"] if one["name"] == "caption")
            lists = [
                (kind, name, count, read_list(rounds.written[f"{kind}/{clip}"], ""))
                for kind, count in counts.items()
                for name, rounds in first.items()
                if f"{kind}/{clip}" in rounds.written
            ]
            own = as_negatives(clip, caption, lists, known)
            self.negatives += own
            labels += [
                text_row(f"{CATEGORY}/{one['sample_id']}", CATEGORY, clip, caption=caption, negative=one["negative"])
                for one in own
                if one["level"] == WORDS and not one["filter"]
            ]
            central += [
                text_row(central_name(clip, text), WORDS, clip, caption=text, count=str(CENTRAL_COUNT))
                for text in [one["negative"] for one in kept_words(own)][: settings.central_tries]
            ]
        labelling = Rounds([*labels, *central], replies[settings.writer], prompts, read)
        self.rounds = {name: [rounds] for name, rounds in first.items()}
        self.rounds[settings.writer].append(labelling)
        self.later = labelling.written
        self.written = [
            row | {"writer": name} for name, own in self.rounds.items() for rounds in own for row in rounds.table()
        ]


def central_name(clip: str, first: str) -> str:
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
    # Negatives of a clip's negatives must not lead back to the caption or to another negative.
    taken = {(row["clip"], plain(row["negative"])): "another negative of the caption" for row in rows}
    again: list[Row] = []
    for clip, own in grouped(rows, lambda row: row["clip"]).items():
        caption = clips[clip]["caption"]
        taken[clip, plain(caption)] = "the caption that the negative was made of"
        for first in (row["negative"] for row in kept_words(own)):
            name = central_name(clip, first)
            lines = read_list(asked.later[name], "") if name in asked.later else []
            again += [
                row | {"sample_id": f"{name}/{row['place']}", "caption": caption, "of": first, "category": ""}
                for row in as_negatives(clip, first, [(CENTRAL, settings.writer, CENTRAL_COUNT, lines)], known)
            ]
    rows += sifted(again, {"caption_again": lambda row: taken.get((row["clip"], plain(row["negative"])), "")})
    problems = {row["text_id"]: f"{row['filter']}: {row['why']}" for row in asked.written if row["filter"]}

    def not_labelled(row: Mapping[str, str]) -> str:
        is_labelled = row["category"] or row["level"] == CENTRAL
        return "" if is_labelled else problems.get(f"{CATEGORY}/{row['sample_id']}", "not asked")

    found = sifted(rows, {"not_labelled": not_labelled})
    made = [
        {name: row[name] for name in OF_NEGATIVE}
        | {name: clips[row["clip"]][name] for name in ("dataset", "video", "start_s", "end_s")}
        for row in found
    ]
    return {"written": asked.written, "samples": made}
