"""VELOCITI's captions: what the writer is asked, how its replies are read, and the samples that they make."""

import re
from collections.abc import Mapping, Sequence

import polars as pl

from reprise.benchmarks.prompts import Prompt
from reprise.construction.filters import Found, Row, Rows, Tables, kept, sifted
from reprise.construction.settings import VelocitiSettings
from reprise.construction.velociti.candidates import CAPTION
from reprise.construction.velociti.events import plain_name, words
from reprise.construction.writing import FAILED, PROBLEMS, Rounds, UnusableError, read_parts

FLUENT, TARGET = "Fluent Caption", "Target"
ENDINGS = ("ing", "ed", "es", "s", "d")
CAPITALISED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
WRITTEN_FILTERS = (
    FAILED, *PROBLEMS, "no_agent", "foreign_name", "target_in_video", "target_unchanged", "unchanged",
)  # fmt: skip
SAMPLE_FILTERS = ("not_written", "no_reference", "same_captions", "true_in_video", "duplicate")


def requests(
    tables: Tables, given: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: VelocitiSettings
) -> list[Row]:
    return rounds_of(tables, given, prompts).requests(settings.max_tokens)


def rounds_of(tables: Tables, given: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt]) -> Rounds:
    """All rounds so far: the texts of the candidates that are left, and the replies."""
    used = kept(tables["candidates"]).select(pl.concat_list("positive", "negative").explode().unique().alias("text_id"))
    texts = tables["texts"].join(used, on="text_id", how="semi", maintain_order="left").to_dicts()
    agents = {name for name in map(plain_name, tables["texts"]["agent"].unique()) if " " in name}

    def read(text: Row, reply: str, prompt: str, written: Mapping[str, str]) -> tuple[str, str]:
        labels = [FLUENT] if text["kind"] == CAPTION else [TARGET, FLUENT]
        parts = read_parts(reply, labels, prompt)
        caption, target = parts[FLUENT], parts.get(TARGET, "")
        check(text, caption, target, written.get(text["instead_of"], ""), agents)
        return caption, target

    return Rounds(texts, given, prompts, read)


def check(text: Row, caption: str, target: str, true: str, agents: set[str]) -> None:
    """Refuse a caption that the dictionary does not bear out; `agents` are named anywhere in the data."""
    missing = sorted(words(text["agent"]) - set(re.findall(r"[^\s,.;:!?\"]+", caption.lower())))
    if missing:
        raise UnusableError("no_agent", f"'{missing[0]}' of the agent '{text['agent']}' is not in '{caption}'")
    shown = text["values"][0]["text"].lower()
    spaced = f" {' '.join(re.findall(r'[a-z0-9]+', caption.lower()))} "
    strangers = [name for name in sorted(agents) if name not in plain_name(shown) and f" {name} " in spaced]
    strangers += [name for name in CAPITALISED.findall(caption) if name.lower() not in shown]
    if strangers:
        raise UnusableError("foreign_name", f"'{strangers[0]}' is not in the dictionary, but in '{caption}'")
    same = [one for one in text["known"] if text["kind"] == "action_adv" and stems(one) & stems(target)]
    if same:
        raise UnusableError("target_in_video", f"'{target}' is '{same[0]}', which happens in the video")
    if text["kind"] == "action_manner" and plain(target) in map(plain, text["known"]):
        raise UnusableError("target_unchanged", f"'{target}' is the manner that it should replace")
    if plain(caption) == plain(true):
        raise UnusableError("unchanged", f"'{caption}' is the true caption")


def plain(text: str) -> str:
    """A text without case and punctuation."""
    return " ".join(re.findall(r"[a-z0-9']+", text.lower()))


def stems(text: str) -> set[str]:
    """What the words of a verb have in common with its other forms: `sliding`, `slides` and `slide` share one."""
    found = set()
    for word in re.findall(r"[a-z]+", text.lower()):
        bare = {word, *(word.removesuffix(ending) for ending in ENDINGS)}
        found |= {stem.removesuffix("e") for stem in bare if len(stem) > 2}
        found |= {stem[:-1] for stem in bare if len(stem) > 3 and stem[-1] == stem[-2]}  # spinning
    return found


def samples(
    tables: Tables, given: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: VelocitiSettings
) -> Rows:
    """Both captions of each candidate whose texts are written; each dropped one with its reason."""
    rounds = rounds_of(tables, given, prompts)
    written = rounds.table()
    why = {row["text_id"]: f"{row['filter']}: {row['why']}" for row in written if row["filter"]}
    agents = dict(tables["texts"].select("text_id", "agent").iter_rows())
    rows: list[Row] = []
    for candidate in kept(tables["candidates"]).iter_rows(named=True):
        row = {name: candidate[name] for name in ("sample_id", "test", "video", "event")}
        sides = {side: candidate[side] for side in ("positive", "negative")}
        lost = [why[name] for names in sides.values() for name in names if name in why]
        if lost:
            rows.append({**row, **dict.fromkeys(sides, ""), "filter": "not_written", "why": lost[0]})
        else:
            texts = {side: [(rounds.written[name], agents[name]) for name in names] for side, names in sides.items()}
            rows.append(row | {side: _caption(row["test"], own) for side, own in texts.items()})
    return {"written": written, "samples": sifted(rows, _filters(rows))}


def _caption(test: str, texts: Sequence[tuple[str, str]]) -> str:
    """The texts together, as the test needs them; nothing where one does not say what its agent does."""
    if test == "chrono":  # as the released ones are
        one, two = (text if text.endswith(".") else f"{text}." for text, _ in texts)
        return f"First, {one} Then, {two}"
    if test != "coref":
        return texts[0][0]
    first, second = (predicate(text, agent) for text, agent in texts)
    return f"The person who {first} is also the one who {second}." if first and second else ""


def predicate(caption: str, agent: str) -> str:
    """What a caption says of its agent; empty where the agent is not found in it."""
    wanted = [re.escape(word) for word in plain_name(agent).split()]
    pattern = r"\b" + r"\W+(?:\w+\W+)?".join(wanted) + r"\b\s*,?\s*"
    found = re.search(pattern, caption, re.IGNORECASE) if wanted else None
    return caption[found.end() :].strip().rstrip(".").strip() if found else ""


def _filters(rows: Sequence[Row]) -> Mapping[str, Found]:
    true = {(row["video"], plain(row["positive"])) for row in rows if row["positive"]}
    first: dict[tuple[str, ...], str] = {}

    def true_in_video(row: Mapping[str, str]) -> str:
        is_true = (row["video"], plain(row["negative"])) in true
        return f"'{row['negative']}' is a true caption of another sample" if is_true else ""

    def duplicate(row: Mapping[str, str]) -> str:
        name = (row["test"], row["video"], plain(row["positive"]), plain(row["negative"]))
        known = first.setdefault(name, row["sample_id"])
        return "" if known == row["sample_id"] else f"the same captions as {known}"

    is_lost = "a caption does not say what its agent does"
    return {
        "no_reference": lambda row: "" if row["positive"] and row["negative"] else is_lost,
        "same_captions": lambda row: row["positive"] if plain(row["positive"]) == plain(row["negative"]) else "",
        "true_in_video": true_in_video,
        "duplicate": duplicate,
    }
