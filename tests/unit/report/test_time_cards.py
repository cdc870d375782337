"""The cards of time in the report."""

from pathlib import Path

import pytest
from reprise.core.files import seal_text, write_text
from reprise.core.paths import ALL, TIME
from reprise.report.build import Pages
from reprise.report.data import write_data
from reprise.report.folder import Folder
from reprise.report.inputs import CARD_KINDS
from reprise.report.keys import Headline
from reprise.timecard.card import NONE, PLANNED, SHUFFLED, Card, CardBenchmark, Change, Number, View, write_card

from tests.unit.report.test_data import BLIND, RIGHT, WRONG
from tests.unit.report.test_data import SHUFFLED as RUN_SHUFFLED
from tests.unit.report.world import RUN, World, all_scored, run_settings

LESS = Change(value=-50.0, low=-90.0, high=-10.0, p=0.03, lost=1, gained=0)
VIEWS = (
    View(view=PLANNED, run=RUN, score=Number(value=66.7, low=20.0, high=90.0)),
    View(view=SHUFFLED, run=RUN_SHUFFLED, score=Number(value=33.3), change=LESS),
    View(view=NONE, run=BLIND, score=Number(value=0.0), change=LESS),
)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A report of a model that has a card."""
    monkeypatch.chdir(tmp_path)
    found = World(tmp_path)
    found.runs = {RUN: all_scored(RIGHT, RIGHT, WRONG), RUN_SHUFFLED: all_scored(WRONG, RIGHT, WRONG)}
    found.runs[BLIND] = all_scored(WRONG, WRONG, WRONG)
    found.views = {RUN: {"shuffled": RUN_SHUFFLED, "none": BLIND}}
    found.changes = {"time": ["one"], "notice": "Toy <numbers>."}
    benchmark = CardBenchmark(
        name="velociti", title="VELOCITI", protocol="entail", sampling="fps1", score="strict", score_title="Strict",
        decimals=1, best=100, samples=3, left_out=0, clusters=2, views=VIEWS, only_with_time=1, chance=25.0,
    )  # fmt: skip
    card = Card(suite="small", notice="Toy <numbers>.", level=0.95, model="one", title="One", benchmarks=(benchmark,))
    for name in ("one", ALL):
        for kind in CARD_KINDS:
            write_text(TIME / f"{name}.{kind}", f"{name}, {kind}")
            seal_text(TIME / f"{name}.{kind}")
    write_card(card, TIME / "one.json")
    return found


def test_every_number_of_a_card_leads_to_its_items_and_the_first_page_has_the_picture(world: World) -> None:
    world.build()
    files = world.files()
    page = files["models/one.html"].decode()
    run, shuffled = (name.replace("/", "%2F") for name in (RUN, RUN_SHUFFLED))
    beside = f"../items.html#b=velociti&run={run}&metric=strict&other={shuffled}&show=".replace("&", "&amp;")
    assert f'<a href="../items.html#b=velociti&amp;run={run}&amp;metric=strict">66.7</a>' in page
    assert f'<a href="{beside}better">1</a>' in page and f'<a href="{beside}worse">0</a>' in page
    assert f'<a href="{beside}time">1 of 3 right only with time</a>' in page
    assert page.count("Toy &lt;numbers&gt;.") == 1, "the page has the notice once"
    assert '<img src="time/all.svg"' in files["index.html"].decode()
    assert files["time/all.svg"] == b"all, svg" and files["time/one.items.csv"] == b"one, items.csv"
    world.changes = {}
    world.build()
    assert not any(name.startswith("time/") for name in world.files()), "no card, no files of it"
    assert "time/" not in world.files()["index.html"].decode()


@pytest.mark.parametrize(("protocol", "chance"), [("entail", 25.0), ("mc", None)])
def test_chance_that_no_table_has_is_that_of_a_card(world: World, protocol: str, chance: float | None) -> None:
    key, folder = world.key, Folder(world.root)
    world.build()
    made_with = {name: run_settings(name) for name in world.runs}
    written = write_data(key, world.results, folder, lambda _: "", made_with)
    pages = Pages(key, world.results, folder, written, made_with)
    pages.write()
    main = Headline(
        metric="strict", group="average", title="Strict", decimals=1, table=None, protocol=protocol, sampling="fps1"
    )
    assert pages.chance(key.benchmarks[0].model_copy(update={"headline": main})) == chance
