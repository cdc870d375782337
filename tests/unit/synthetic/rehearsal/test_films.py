"""The films: whole videos, rendered once for all ids that they stand for; concatenations with their black span."""

from pathlib import Path

import pytest
from reprise.core.store import Store
from reprise.fetch.routes import fetcher_for
from reprise.fetch.settings import Rehearsal
from reprise.media.black import check_black, separating_span
from reprise.media.probe import packet_index
from reprise.stages.sources import fetch_source
from synthetic.rehearsal.films import RATE, SECONDS, film_number

ROUTE = Rehearsal(kind="rehearsal", joined="joined/*")


def ids_of(number: int, count: int, folder: str = "single") -> list[str]:
    """The first ids that a film stands for."""
    names = (f"{folder}/{place}" for place in range(10_000))
    return [name for name, _ in zip((n for n in names if film_number(n) == number), range(count), strict=False)]


def test_ids_of_one_film_share_its_object(tmp_path: Path) -> None:
    store = Store(tmp_path)
    fetcher = fetcher_for(ROUTE, store)
    found = [fetch_source(name, fetcher, store) for name in ids_of(1, 3)]
    assert {record.status for record in found} == {"ok"} and len({record.object for record in found}) == 1
    index = packet_index(store.root / found[0].object)
    assert index.frames == SECONDS[1] * RATE and (index.width, index.height) == (32, 32)
    other = fetch_source(ids_of(2, 1)[0], fetcher, store)
    assert other.sha256 != found[0].sha256


@pytest.mark.parametrize("joined", ["joined/*", None, "other/*"])
def test_only_ids_of_the_pattern_are_concatenations_with_two_seconds_of_black(joined: str | None, tmp_path: Path) -> None:  # fmt: skip
    store = Store(tmp_path)
    fetcher = fetcher_for(Rehearsal(kind="rehearsal", joined=joined), store)
    path = store.root / fetch_source(ids_of(0, 1, "joined")[0], fetcher, store).object
    frames = SECONDS[0] * RATE
    if joined == "joined/*":
        start, end = separating_span(path, 2.0, expected_start_s=SECONDS[0])
        check_black(path, start, end)
        assert (start, end) == (frames, frames + 2 * RATE)
        frames = end + SECONDS[1] * RATE
    assert packet_index(path).frames == frames
