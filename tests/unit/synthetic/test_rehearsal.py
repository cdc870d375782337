"""Test the rehearsal: releases as large as the papers', and films whose concatenations have a black span."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.annotations import is_in_group, list_flaws
from reprise.benchmarks.mmbench_video.taxonomy import SCORING_BY_SET
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

from tests.unit.benchmarks.whole import BenchmarkPipeline

RELEASE = ReleaseRehearsal(kind="rehearsal")
OPTIONS = {"velociti": {"subset": {"per_test": 150, "seed": 0}}}


@pytest.mark.parametrize("benchmark", list(WRITERS))
def test_a_release_has_the_counts_of_its_paper_and_no_empty_group_of_a_table(benchmark: str, tmp_path: Path) -> None:
    """Tests of the rehearsal's tables compare the other counts with the papers."""
    write_release(benchmark, tmp_path, RELEASE)
    pipeline, files = BenchmarkPipeline(benchmark), sorted(path for path in tmp_path.rglob("*") if path.is_file())
    clips, items = pipeline.annotations(files, "release", OPTIONS.get(benchmark, {}))
    tables = load(Path(), {"suite": "rehearsal"}).tables[benchmark].tables.values()
    groups = {
        group
        for spec in tables
        for column in spec.columns
        for row in spec.rows()
        if (group := row.group or column.group)
    }
    assert groups and not [group for group in groups if pipeline.in_group(items, group).is_empty()]
    assert list_flaws(items) == []
    tasks = Counter(items["task"])
    if benchmark == "mmbench_video":
        own_items = items.filter(is_in_group("mmbench_video"))
        assert (own_items["clip_id"].n_unique(), own_items.height) == (609, 1998), "section 3"
        count_by_set = {"mmbench": 1292, "mmstar": 1500} | dict.fromkeys(SCORING_BY_SET, 1000)
        assert {name: tasks[name] for name in count_by_set} == count_by_set, "sections 3.2 and 4.2"
    elif benchmark == "temporalbench":
        assert (tasks["long"], tasks["caption"]) == (5485, 2179 - 288), "no captions of FineGym"
        assert items.filter(task="long")["clip_id"].n_unique() == temporalbench.LONG_VIDEOS
    elif benchmark == "velociti":
        assert clips.height == 864, "section 3 of the paper"

    check_stated_counts(benchmark, pipeline, items)


def check_stated_counts(benchmark: str, pipeline: BenchmarkPipeline, items: pl.DataFrame) -> None:
    """Compare the counts of `data:`, which `reprise plan` prints, with the requests of a release of full size."""
    settings = load(Path(), {"suite": "rehearsal"}).benchmarks[benchmark]
    assert settings.data is not None
    forms: set[str] = set()
    for protocol in settings.protocols.values():
        counts = [
            count for count in settings.data.counts if protocol.form in count.forms and count.items == protocol.items
        ]
        if protocol.form in forms or not counts or protocol.items == "subset":  # The subset is a list of the authors.
            continue
        forms.add(protocol.form)
        selected = items if protocol.items is None else items.filter(is_in_group(protocol.items))
        requests = pipeline.requests(selected, protocol.form, protocol.prompt)
        samples = counts[0].samples.number + (51 if protocol.items == "short" else 0)  # 9918 in the paper's Table 5
        assert len(requests) == samples * counts[0].requests_per_sample, protocol.form
        assert len({row["clip_id"] for row in requests}) == counts[0].clips.number, protocol.form
    assert forms == {form for count in settings.data.counts for form in count.forms}


def test_an_unknown_benchmark_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"unknown benchmark of the rehearsal 'velocity'. Did you mean 'velociti'"):
        write_release("velocity", tmp_path, RELEASE)


@pytest.mark.parametrize("joined", ["joined/*", None])
def test_ids_of_one_film_share_an_object_and_ids_of_the_pattern_are_concatenations(
    joined: str | None, tmp_path: Path
) -> None:
    store = Store(tmp_path)
    fetcher = create_fetcher(Rehearsal(kind="rehearsal", joined=joined), store)
    first, second, *_ = (name for name in (f"joined/{index}" for index in range(1000)) if film_number(name) == 0)
    records = [fetch_source(name, fetcher, store) for name in (first, second)]
    assert records[0].object == records[1].object
    path, frame_count = store.root / records[0].object, SECONDS[0] * RATE
    if joined:
        start, end = find_separating_span(path, 2.0, expected_start_s=SECONDS[0])
        check_black(path, start, end)
        assert (start, end) == (frame_count, frame_count + 2 * RATE)
        frame_count = end + SECONDS[1] * RATE
    assert read_packet_index(path).frame_count == frame_count
