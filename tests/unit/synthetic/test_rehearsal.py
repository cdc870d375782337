"""The rehearsal: releases as large as the papers', and films of which concatenations have their black span."""

from collections import Counter
from pathlib import Path

import pytest
from reprise.benchmarks.annotations import is_in, list_flaws
from reprise.benchmarks.mmbench_video.taxonomy import OTHER_VIDEO_SETS
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.fetch.routes import create_fetcher
from reprise.fetch.settings import Rehearsal, ReleaseRehearsal
from reprise.media.black import check_black, find_separating_span
from reprise.media.probe import read_packet_index
from reprise.stages.sources import fetch_source
from synthetic.rehearsal import temporalbench
from synthetic.rehearsal.films import RATE, SECONDS, film_number
from synthetic.rehearsal.plugin import WRITERS, write_release

from tests.unit.benchmarks.whole import Whole

RELEASE = ReleaseRehearsal(kind="rehearsal")
OPTIONS = {"velociti": {"subset": {"per_test": 150, "seed": 0}}}


@pytest.mark.parametrize("benchmark", list(WRITERS))
def test_a_release_has_what_its_paper_counts_and_no_group_of_a_table_is_empty(benchmark: str, tmp_path: Path) -> None:
    """What tables of counts print is compared with the papers where the rehearsal's tables are made."""
    write_release(benchmark, tmp_path, RELEASE)
    module, files = Whole(benchmark), sorted(path for path in tmp_path.rglob("*") if path.is_file())
    clips, items = module.annotations(files, "release", OPTIONS.get(benchmark, {}))
    tables = load(Path(), {"suite": "rehearsal"}).tables[benchmark].tables.values()
    named = {group for spec in tables for c in spec.columns for r in spec.rows() if (group := r.group or c.group)}
    assert named and not [group for group in named if module.in_group(items, group).is_empty()]
    assert list_flaws(items) == []
    tasks = Counter(items["task"])
    if benchmark == "mmbench_video":
        own = items.filter(is_in("mmbench_video"))
        assert (own["clip_id"].n_unique(), own.height) == (609, 1998), "section 3"
        beside = {"mmbench": 1292, "mmstar": 1500} | dict.fromkeys(OTHER_VIDEO_SETS, 1000)
        assert {name: tasks[name] for name in beside} == beside, "sections 3.2 and 4.2"
    elif benchmark == "temporalbench":
        assert (tasks["long"], tasks["caption"]) == (5485, 2179 - 288), "no captions of FineGym"
        assert items.filter(task="long")["clip_id"].n_unique() == temporalbench.LONG_VIDEOS
    elif benchmark == "velociti":
        assert clips.height == 864, "section 3 of the paper"


def test_a_benchmark_that_has_no_release_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"unknown benchmark of the rehearsal 'velocity'. Did you mean 'velociti'"):
        write_release("velocity", tmp_path, RELEASE)


@pytest.mark.parametrize("joined", ["joined/*", None])
def test_ids_of_one_film_share_it_and_those_of_the_pattern_are_concatenations(
    joined: str | None, tmp_path: Path
) -> None:
    store = Store(tmp_path)
    fetcher = create_fetcher(Rehearsal(kind="rehearsal", joined=joined), store)
    first, second, *_ = (name for name in (f"joined/{place}" for place in range(1000)) if film_number(name) == 0)
    found = [fetch_source(name, fetcher, store) for name in (first, second)]
    assert found[0].object == found[1].object
    path, frames = store.root / found[0].object, SECONDS[0] * RATE
    if joined:
        start, end = find_separating_span(path, 2.0, expected_start_s=SECONDS[0])
        check_black(path, start, end)
        assert (start, end) == (frames, frames + 2 * RATE)
        frames = end + SECONDS[1] * RATE
    assert read_packet_index(path).frames == frames
