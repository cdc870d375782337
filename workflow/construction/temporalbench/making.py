"""TemporalBench's clips, their filters (sections 3.1 and 3.2), and the negative captions that writers produce."""

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
# These columns are Reprise's own, because the authors' annotation format is not published.
NEEDED = ("dataset", "split", "video", "start", "end", "description", "caption")
REFINED = "refined"  # the corrected caption; the column may be missing
SAID = ("split", "description", "caption", REFINED)  # the columns whose texts are collected over all rows of a clip
WORDS, EVENTS, CATEGORY = "words", "events", "category"
"""The names of the prompts. The first one also asks for negatives of negatives."""


class Annotated(NamedTuple):
    """A clip with all its annotations."""

    dataset: str
    video: str
    start_s: float | None
    end_s: float | None
    said: Mapping[str, list[str]]  # column -> the different texts of all its rows

    @property
    def clip(self) -> Clip:
        """Return the clip as the evaluation names and trims it, without sound."""
        unit, start, end = f"{self.dataset}/{self.video}", self.start_s or 0.0, self.end_s or 0.0
        return Clip(f"{unit}.short-{seconds(start)}-{seconds(end)}", unit, "trim", self.video, start, end)


def clips(files: Mapping[str, Path], settings: TemporalBenchSettings) -> list[Clip]:
    annotations = read_clips(files)
    pairs = zip(annotations, annotated_rows(annotations, settings), strict=True)
    return list({annotation.clip.clip_id: annotation.clip for annotation, row in pairs if not row["filter"]}.values())


def read_clips(files: Mapping[str, Path]) -> list[Annotated]:
    """Read the clips of all files and merge the rows of a clip, because captions may have separate files."""
    clips: dict[tuple[Any, ...], Annotated] = {}
    for path in files.values():
        table = read_own_rows(path)
        require_columns(table, NEEDED, path)
        for number, row in enumerate(table.iter_rows(named=True), start=1):
            where = {name: f"{path}: row {number}: {name}" for name in (*NEEDED, REFINED)}
            text = {name: text_of(row.get(name), place) for name, place in where.items()}
            start, end = (_seconds(text[name], where[name]) for name in ("start", "end"))
            clip = (text["dataset"], ENDING.sub("", text["video"]), start, end)
            collected = clips.setdefault(clip, Annotated(*clip, {key: [] for key in SAID})).said
            for key, texts in collected.items():
                if text[key] and text[key] not in texts:
                    texts.append(text[key])
    if not clips:
        raise UserError(f"annotations of TemporalBench: no clips in {', '.join(sorted(files)) or 'no file'}.")
    return list(clips.values())


def _seconds(text: str, cell_name: str) -> float | None:
    number = number_in(text)
    if text and (number is None or number < 0):
        raise UserError(f"{cell_name}: should be a number of seconds, found '{text}'.")
    return number


def annotated_rows(annotations: Sequence[Annotated], settings: TemporalBenchSettings) -> list[Row]:
    """Return a row per clip with the filter that drops it before the measurements."""
    rows, longest_s = [], settings.longest_s
    for annotation in annotations:
        refined, is_described = annotation.said[REFINED], annotation.dataset in settings.described
        rows.append({
            "clip": annotation.clip.clip_id, "dataset": annotation.dataset,
            "split": "".join(annotation.said["split"][:1]), "video": annotation.video,
            "start_s": annotation.start_s, "end_s": annotation.end_s,
            "description": "".join(annotation.said["description"][:1]),
            "captions": annotation.said["description"] if is_described else refined or annotation.said["caption"],
            "is_refined": bool(refined) and not is_described, "seconds": None, "shots": None, "motion": None,
        })  # fmt: skip
    filters: dict[str, Found] = {
        "other_dataset": lambda row: "" if row["dataset"] in settings.datasets else f"'{row['dataset']}'",
        "other_split": lambda row: "" if row["split"] in settings.splits else f"'{row['split']}'",
        "bad_name": lambda row: "" if NAME.fullmatch(row["video"]) else f"'{row['video']}' cannot be a file's name",
        "no_span": lambda row: (
            ""
            if None not in (row["start_s"], row["end_s"]) and 0 <= row["start_s"] < row["end_s"]
            else f"from {row['start_s']} to {row['end_s']}"
        ),
        "too_long": lambda row: (
            f"{row['end_s'] - row['start_s']:g} s, more than {longest_s:g}"
            if row["end_s"] - row["start_s"] > longest_s
            else ""
        ),
    }
    rows = sifted(rows, filters)
    beyond = beyond_draw(rows, ("dataset",), "clip", settings.measured, settings.seed, OF_DATASET)
    return sifted(rows, {"not_measured": beyond})


def candidates(files: Mapping[str, Path], settings: TemporalBenchSettings, facts: pl.DataFrame) -> Rows:
    """Return all annotated clips, dropped ones with their reason, and the texts to request for the others."""
    measured = {row["clip_id"]: row for row in facts.iter_rows(named=True)}
    rows = annotated_rows(read_clips(files), settings)
    remaining = [row["clip"] for row in rows if not row["filter"]]
    if remaining and not any(clip in measured for clip in remaining):
        raise UserError(
            f"construction of temporalbench: not one video of its {len(remaining)} clips is available, among them "
            f"'{remaining[0]}'. `python -m reprise missing` says why; correct `route:` or the files' names."
        )
    columns = {"seconds": "duration_s", "shots": "shots", "motion": "motion"}
    rows = [
        row | {name: measured[row["clip"]][column] for name, column in columns.items() if row["clip"] in measured}
        for row in rows
    ]
    max_transitions, missing = settings.transitions, "see `python -m reprise missing`"
    clip_filters: dict[str, Found] = {
        "not_available": lambda row: "" if row["clip"] in measured else missing,
        "static": lambda row: f"optical flow of {row['motion']:.3f} %" if measured[row["clip"]]["is_static"] else "",
        "scene_transitions": lambda row: (
            f"{row['shots'] - 1} transitions, more than {max_transitions}" if row["shots"] - 1 > max_transitions else ""
        ),
    }
    rows = sifted(rows, clip_filters)
    caption_filters: dict[str, Found] = {
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
    rows = sifted(rows, caption_filters)
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


CENTRAL = "central"  # the level of negatives of a negative
CENTRAL_COUNT = 2  # the number of negatives of a negative (section 3.3)
EVENT_ORDER = "Event Order"
WORD_CATEGORIES = tuple(name for name in CATEGORIES if name != EVENT_ORDER)
BEFORE = re.compile(r"^\s*(?:Caption:|\d+\.)\s*", re.IGNORECASE)  # the prefix of a caption or a negative in a prompt
OF_NEGATIVE = ("sample_id", "clip", "level", "writer", "caption", "of", "negative", "category", "filter", "why")


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def examples(prompts: Mapping[str, Prompt]) -> frozenset[str]:
    """Return the example captions and negatives of both prompts, which do not count as negatives of other captions."""
    return frozenset(
        plain(BEFORE.sub("", line)) for name in (WORDS, EVENTS) for line in prompts[name].user.splitlines()
    )


Listed = tuple[str, str, int, list[str]]  # level, writer, requested number of negatives, and its lines


def as_negatives(clip: str, caption: str, lists: Sequence[Listed], known: Collection[str] = ()) -> list[Row]:
    """Return every line of every list; filters mark dropped lines, and equal lines after the first."""
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
    # The examples are valid negatives of the prompt's own caption.
    examples_of_others = () if plain(caption) in known else known
    filters: dict[str, Found] = {
        "more_than_asked": lambda row: f"more than {row['most']}" if row["place"] > row["most"] else "",
        "no_words": lambda row: "" if plain(row["negative"]) else "it has no words",
        "unchanged": lambda row: "the caption itself" if plain(row["negative"]) == plain(caption) else "",
        "in_prompt": lambda row: "an example of the prompt" if plain(row["negative"]) in examples_of_others else "",
        "duplicate": repeated(lambda row: plain(row["negative"]), "the same as one before"),
    }
    return sifted(rows, filters)


def kept_words(rows: Iterable[Row]) -> list[Row]:
    """Return the kept word-level negatives of a clip in the order of their digests."""
    negatives = [row for row in rows if row["level"] == WORDS and not row["filter"]]
    return sorted(negatives, key=lambda row: row["sample_id"])


def category_in(reply: str, prompt: str) -> str:
    text = opened(reply, prompt)
    matches = [name for name in WORD_CATEGORIES if f" {plain(name)} " in f" {plain(text)} "]
    if not matches:
        raise UnusableError("no_category", f"none of {', '.join(WORD_CATEGORIES)} in {shown(text)}")
    if len(matches) > 1:
        raise UnusableError("several_categories", ", ".join(matches))
    return matches[0]


class Asked:
    """All rounds so far: each writer's negatives, then the requests to `writer:` about the usable ones."""

    def __init__(
        self,
        tables: Tables,
        reply_tables: Sequence[pl.DataFrame],
        prompts: Mapping[str, Prompt],
        settings: TemporalBenchSettings,
    ) -> None:
        prompt_examples, writers = examples(prompts), writers_of(settings)
        replies = {name: [table.filter(writer=name) for table in reply_tables] for name in writers}

        def read(text: Row, reply: str, prompt: str, written: Mapping[str, str]) -> tuple[str, str]:
            kind = text["kind"]
            if kind == CATEGORY:
                return category_in(reply, prompt), ""
            values = {entry["name"]: entry["text"] for entry in text["values"]}
            level = CENTRAL if text["text_id"].startswith(f"{CENTRAL}/") else kind
            lists = [(level, "", int(values["count"]), read_list(reply, prompt))]
            rows = as_negatives(text["video"], values["caption"], lists, prompt_examples)
            # The prompt asks for the unchanged caption if there is only one event.
            is_one_event = kind == EVENTS and [row["filter"] for row in rows] == ["unchanged"]
            if all(row["filter"] for row in rows) and not is_one_event:
                raise UnusableError(rows[0]["filter"], rows[0]["why"])
            return reply, ""

        negative_rounds = {name: Rounds(tables["texts"].to_dicts(), replies[name], prompts, read) for name in writers}
        counts = {WORDS: settings.word_negatives, EVENTS: settings.event_negatives}
        self.negatives: list[Row] = []
        labels: list[Row] = []
        central: list[Row] = []
        for row in tables["texts"].filter(kind=WORDS).iter_rows(named=True):
            clip, caption = row["video"], next(entry["text"] for entry in row["values"] if entry["name"] == "caption")
            lists = [
                (kind, name, count, read_list(rounds.written[f"{kind}/{clip}"], ""))
                for kind, count in counts.items()
                for name, rounds in negative_rounds.items()
                if f"{kind}/{clip}" in rounds.written
            ]
            negatives = as_negatives(clip, caption, lists, prompt_examples)
            self.negatives += negatives
            labels += [
                text_row(
                    f"{CATEGORY}/{negative['sample_id']}",
                    CATEGORY,
                    clip,
                    caption=caption,
                    negative=negative["negative"],
                )
                for negative in negatives
                if negative["level"] == WORDS and not negative["filter"]
            ]
            central += [
                text_row(central_name(clip, text), WORDS, clip, caption=text, count=str(CENTRAL_COUNT))
                for text in [negative["negative"] for negative in kept_words(negatives)][: settings.central_tries]
            ]
        labelling = Rounds([*labels, *central], replies[settings.writer], prompts, read)
        self.rounds = {name: [rounds] for name, rounds in negative_rounds.items()}
        self.rounds[settings.writer].append(labelling)
        self.later = labelling.written
        self.written = [
            row | {"writer": name}
            for name, writer_rounds in self.rounds.items()
            for rounds in writer_rounds
            for row in rounds.table()
        ]


def central_name(clip: str, first: str) -> str:
    return f"{CENTRAL}/{clip}/{rank(0, first)[:10]}"


def requests(
    tables: Tables,
    replies: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: TemporalBenchSettings,
    writer: str,
) -> list[Row]:
    conversation = Asked(tables, replies, prompts, settings)
    return [row for rounds in conversation.rounds[writer] for row in rounds.requests(settings.max_tokens)]


def samples(
    tables: Tables, replies: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: TemporalBenchSettings
) -> Rows:
    """Return each negative with its category, and negatives of some negatives; dropped rows keep their reason."""
    conversation, prompt_examples = Asked(tables, replies, prompts, settings), examples(prompts)
    clips = {row["clip"]: row for row in kept(tables["pool"]).iter_rows(named=True)}
    rows = []
    for row in conversation.negatives:
        category = (
            EVENT_ORDER if row["level"] == EVENTS else conversation.later.get(f"{CATEGORY}/{row['sample_id']}", "")
        )
        rows.append(row | {"category": category, "of": row["caption"]})
    # A negative of a negative must not repeat the caption or another negative of the clip.
    forbidden = {(row["clip"], plain(row["negative"])): "another negative of the caption" for row in rows}
    second_level: list[Row] = []
    for clip, clip_rows in grouped(rows, lambda row: row["clip"]).items():
        caption = clips[clip]["caption"]
        forbidden[clip, plain(caption)] = "the caption that the negative was made of"
        for first in (row["negative"] for row in kept_words(clip_rows)):
            name = central_name(clip, first)
            lines = read_list(conversation.later[name], "") if name in conversation.later else []
            second_level += [
                row | {"sample_id": f"{name}/{row['place']}", "caption": caption, "of": first, "category": ""}
                for row in as_negatives(
                    clip, first, [(CENTRAL, settings.writer, CENTRAL_COUNT, lines)], prompt_examples
                )
            ]
    rows += sifted(
        second_level, {"caption_again": lambda row: forbidden.get((row["clip"], plain(row["negative"])), "")}
    )
    problems = {row["text_id"]: f"{row['filter']}: {row['why']}" for row in conversation.written if row["filter"]}

    def not_labelled(row: Mapping[str, str]) -> str:
        is_labelled = row["category"] or row["level"] == CENTRAL
        return "" if is_labelled else problems.get(f"{CATEGORY}/{row['sample_id']}", "not asked")

    filtered = sifted(rows, {"not_labelled": not_labelled})
    sample_rows = [
        {name: row[name] for name in OF_NEGATIVE}
        | {name: clips[row["clip"]][name] for name in ("dataset", "video", "start_s", "end_s")}
        for row in filtered
    ]
    return {"written": conversation.written, "samples": sample_rows}
