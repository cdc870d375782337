"""VELOCITI's samples: both captions of each candidate, and the filters on them."""

from collections.abc import Mapping, Sequence

import polars as pl

from reprise.benchmarks.prompts import Prompt
from reprise.construction.filters import Filter, Row, kept, sifted
from reprise.construction.settings import VelocitiSettings
from reprise.construction.steps import Made
from reprise.construction.velociti.captions import in_order, plain, predicate
from reprise.construction.velociti.requests import rounds_of

SAMPLE_FILTERS = ("not_written", "no_reference", "same_captions", "true_in_video", "duplicate")


def samples(
    tables: Mapping[str, pl.DataFrame],
    given: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: VelocitiSettings,
) -> Made:
    """The samples of the candidates whose texts are written; each dropped one with its reason."""
    rounds = rounds_of(tables, given, prompts)
    written = rounds.table()
    why = {row["text_id"]: f"{row['filter']}: {row['why']}" for row in written if row["filter"]}
    agents = dict(tables["texts"].select("text_id", "agent").iter_rows())
    assemble = _Assembler(rounds.written, agents, settings.coreference)
    rows = []
    for candidate in kept(tables["candidates"]).iter_rows(named=True):
        lost = [why[name] for name in (*candidate["positive"], *candidate["negative"]) if name in why]
        row = {name: candidate[name] for name in ("sample_id", "test", "video", "event")}
        if lost:
            rows.append({**row, "positive": "", "negative": "", "filter": "not_written", "why": lost[0]})
        else:
            rows.append({**row, **assemble.captions(candidate)})
    return Made(written, sifted(rows, _filters(rows)))


class _Assembler:
    """Puts texts together as the tests need them."""

    def __init__(self, written: Mapping[str, str], agents: Mapping[str, str], coreference: str) -> None:
        self._written, self._agents, self._coreference = written, agents, coreference

    def captions(self, candidate: Row) -> dict[str, str]:
        """Both captions; empty where one of its texts does not say what its agent does."""
        return {side: self._caption(candidate["test"], candidate[side]) for side in ("positive", "negative")}

    def _caption(self, test: str, names: list[str]) -> str:
        texts = [self._written[name] for name in names]
        if test == "chrono":
            return in_order(*texts)
        if test != "coref":
            return texts[0]
        deeds = [predicate(text, self._agents[name]) for text, name in zip(texts, names, strict=True)]
        first, second = deeds
        return self._coreference.replace("{first}", first).replace("{second}", second) if all(deeds) else ""


def _filters(rows: Sequence[Row]) -> list[Filter]:
    true = {(row["video"], plain(row["positive"])) for row in rows if row["positive"]}
    seen: dict[tuple[str, ...], str] = {}

    def duplicate(row: Mapping[str, str]) -> str:
        name = (row["test"], row["video"], plain(row["positive"]), plain(row["negative"]))
        first = seen.setdefault(name, row["sample_id"])
        return "" if first == row["sample_id"] else f"the same captions as {first}"

    def no_reference(row: Mapping[str, str]) -> str:
        return "" if row["positive"] and row["negative"] else "a caption does not say what its agent does"

    def same(row: Mapping[str, str]) -> str:
        return row["positive"] if plain(row["positive"]) == plain(row["negative"]) else ""

    def true_in_video(row: Mapping[str, str]) -> str:
        is_true = (row["video"], plain(row["negative"])) in true
        return f"'{row['negative']}' is a true caption of another sample" if is_true else ""

    found = {
        "not_written": lambda row: "",  # known before
        "no_reference": no_reference,
        "same_captions": same,
        "true_in_video": true_in_video,
        "duplicate": duplicate,
    }
    return [Filter(name, found[name]) for name in SAMPLE_FILTERS]
