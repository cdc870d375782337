"""Test the folder with selected runs that is passed on: its runs, and what it withholds."""

import re
from pathlib import Path

import pytest
from reprise.config.suite import PublishedContent
from reprise.core.files import file_digest
from reprise.core.store import Store
from reprise.report.bundle import select_runs, write_bundle
from reprise.report.redaction import Redactor

from tests.unit.report.world import (
    CAPTION,
    OTHER_RUN,
    RUN,
    World,
    make_responses,
    make_run_tables,
    make_verdicts,
    run_settings,
)
from tests.unit.rows import response_row

PRIVATE = "/scratch/anna/runs"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Return a suite with two runs; a failure's message and the settings of a run name this machine."""
    world = World(tmp_path)
    clip = tmp_path / "store/clips/aa/aa.mp4"
    clip.parent.mkdir(parents=True)
    clip.write_bytes(b"a video")
    world.clips[0]["sha256"] = file_digest(clip)
    failed = response_row("b#pos", error="Timeout", message=f"no answer of http://gpu01:8000/v1 about {PRIVATE}/x.mp4")
    responses = [*make_responses("a", 0.9, 0.4), failed]
    world.runs[RUN] = (responses, make_verdicts("a", 0.9, 0.4), make_verdicts("a", 0.9, 0.4))
    world.runs[OTHER_RUN] = make_run_tables((0.9, 0.1), (0.2, 0.8), (0.5, 0.6))
    world.build()
    return world


def write(world: World, tmp_path: Path, content: PublishedContent) -> dict[str, bytes]:
    """Return the files of the bundle of one run by name."""
    key = select_runs(world.key, {RUN})
    assert [run.run for run in key.runs()] == [RUN]
    settings = {RUN: run_settings(RUN).model_copy(update={"key": f"{PRIVATE}/ckpt"})}
    world.root = tmp_path / "bundle"
    write_bundle(
        key,
        world.results,
        Store(world.store),
        world.root,
        settings,
        {"velociti": content},
        [("index.html", "what it shows")],
        Redactor([tmp_path]),
    )
    return world.files()


@pytest.mark.parametrize("content", ["answers", "texts", "clips"])
def test_a_bundle_contains_what_the_licence_allows(world: World, tmp_path: Path, content: PublishedContent) -> None:
    files = write(world, tmp_path, content)
    assert {"index.html", "items.html", "runs/velociti.entail.fps1.one.html", "assets/item.js"} <= files.keys()
    assert not any(name.startswith(("tables/", "models/", "figures/")) or "two" in name for name in files)
    assert '<td class="model">one</td>' in files["index.html"].decode(), (
        "the table names the model, without a page of it"
    )
    everything = b"\n".join(files.values())
    assert (CAPTION.encode() in everything) == (content != "answers")
    assert (b"Does it fit?" in everything) == (content != "answers")
    assert (b"expected" in files["data/velociti/items/0.js"]) == (content != "answers")
    assert ("media/aa.mp4" in files) == (content == "clips")
    (item, *_) = world.data("velociti/items/0")
    assert item["answers"]["0"][0]["scores"] == [0.9, 0.1], "answers are always there"
    assert world.data("velociti/clips/0")[0]["media"] == ("media/aa.mp4" if content == "clips" else "")


def test_a_bundle_names_nothing_of_this_machine(world: World, tmp_path: Path) -> None:
    files = write(world, tmp_path, "clips")
    everything = b"\n".join(files.values()).decode(errors="replace")
    assert "no answer of [server] about [path]/x.mp4" in everything
    for private in (str(tmp_path), PRIVATE, "gpu01", "anna"):
        assert private not in everything


def test_every_link_of_a_bundle_leads_to_one_of_its_pages(world: World, tmp_path: Path) -> None:
    files = write(world, tmp_path, "texts")
    for name, content in files.items():
        if name.endswith(".html"):
            for address in re.findall(r'(?:href|src)="([^"#]*)', content.decode()):
                if address and not address.startswith("data:"):
                    target = (Path("/") / name).parent.joinpath(address).resolve().relative_to("/").as_posix()
                    assert target in files, (name, address)


def test_a_bundle_opens_with_the_items_that_the_run_answered(world: World, tmp_path: Path) -> None:
    """Of the three items, the run answered only a. Without an item in the address, the browser lists the counted items."""
    write(world, tmp_path, "texts")
    assert world.data("catalog")["benchmarks"][0]["initial_state"] == {"b": "velociti"}
    assert world.data("velociti/runs/0")["fixed"]["strict"] == "1--"
