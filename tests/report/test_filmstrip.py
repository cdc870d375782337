"""What the models saw and answered: the frames of an item, the verdicts on it, and the pictures that a page saves."""

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from tests.report.conftest import open_viewer, write_video
from tests.report.viewer import Viewer
from tests.unit.report.world import OTHER_RUN, RUN, World, make_run_tables

SHUFFLED_RUN, THIRD_RUN = "velociti/entail/fps1.shuffled/one", "velociti/entail/fps1/three"
RIGHT, WRONG = (0.9, 0.1), (0.1, 0.9)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def temporal_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a report in which one model needs the planned order for item a, and the clip of b has no pictures."""
    folder = tmp_path_factory.mktemp("temporal")
    world = World(folder)
    write_video(folder / "store/clips/aa/aa.mp4")
    world.runs = {
        RUN: make_run_tables(RIGHT, RIGHT, WRONG), OTHER_RUN: make_run_tables(RIGHT, WRONG, WRONG),
        THIRD_RUN: make_run_tables(WRONG, WRONG, WRONG), SHUFFLED_RUN: make_run_tables(WRONG, RIGHT, WRONG),
    }  # fmt: skip
    world.ablations = {RUN: {"shuffled": SHUFFLED_RUN}}
    times = {"times_s": [0.25, 0.75, 1.25], "note": ""}
    world.plans = [{"clip_id": "c1", "indices": [6, 18, 30], **times}]
    world.plans_by_sampling["fps1.shuffled"] = [{"clip_id": "c1", "indices": [18, 30, 6], **times}]
    world.items[0]["texts"].append({"name": "negative", "text": "A man sleeps."})
    world.build()
    return folder


@pytest.fixture
def temporal(browser: Browser, temporal_folder: Path) -> Iterator[Viewer]:
    yield from open_viewer(browser, f"{temporal_folder.as_uri()}/", 1280)


def test_a_filmstrip_of_the_first_page_opens_the_item_with_its_reasons(temporal: Viewer) -> None:
    temporal.open("index.html")
    temporal.page.locator(".filmstrip a").click()
    temporal.heading("a")
    reasons = [" ".join(text.split()) for text in temporal.page.locator(".why").all_inner_texts()]
    assert reasons[0] == "✓ right A one entail, fps1: pos: answered “Yes” (p 0.9); neg: answered “No” (p 0.9)."
    assert "✗ wrong B one entail, fps1.shuffled: pos: answered “No” (p 0.9), right is “Yes”;" in reasons[1]
    numbers = [figure.locator("b").all_inner_texts() for figure in temporal.page.locator(".thumbnails").all()]
    assert numbers == [["1", "2", "3"], ["2", "3", "1"]]
    assert temporal.page.locator(".saw mark").all_inner_texts() == ["runs", "sleeps"]
    expect(
        temporal.page.get_by_role("button", name="Frame 1 of 3, 0.75 s, number 2 in the planned order")
    ).to_be_visible()
    assert "2 of 3 models right (entail, fps1)" in temporal.text("#item")


def test_a_page_on_disk_saves_the_frames_for_which_the_report_has_pictures(temporal: Viewer) -> None:
    temporal.open("items.html")
    temporal.heading("a")
    contents = {}
    for kind in ("SVG", "PNG"):
        with temporal.page.expect_download() as download:
            temporal.page.get_by_role("button", name=f"Save as {kind}").click()
        assert download.value.suggested_filename == f"velociti.a.{kind.lower()}"
        contents[kind] = Path(download.value.path()).read_bytes()
    svg = ElementTree.fromstring(contents["SVG"])  # noqa: S314 - written by the page
    pictures = [element.attrib["href"] for element in svg.iter(f"{SVG}image")]
    assert len(pictures) == 6 and pictures[:3] == [pictures[5], pictures[3], pictures[4]], "shuffled: 2, 3, 1"
    words = "".join(element.text or "" for element in svg.iter(f"{SVG}text"))
    assert all(word in words for word in ("sleeps", "✓right", "✗wrong", "“Yes”"))
    with Image.open(BytesIO(contents["PNG"])) as picture:
        assert picture.width == 2 * int(svg.attrib["width"])
        assert len(set(picture.convert("RGB").resize((64, 32)).get_flattened_data())) > 50, "the PNG shows the frames"


def test_a_server_saves_the_frames_of_any_item(browser: Browser, base: str) -> None:
    for viewer in open_viewer(browser, base, 1280):
        viewer.open(f"items.html#b=velociti&run={RUN}&item=a")
        if base.startswith("file:"):
            expect(viewer.page.get_by_text("Saving these frames as a picture needs a web server")).to_be_visible()
            continue
        with viewer.page.expect_download() as download:
            viewer.page.get_by_role("button", name="Save as SVG").click()
        assert len(re.findall("<image ", Path(download.value.path()).read_text())) == 2


def test_a_pair_is_wrong_because_of_its_wrong_items(viewer: Viewer) -> None:
    """The second of four items makes the first pair wrong; a group of a video counts only the items of the group."""
    viewer.open()
    view = """{
      index: {pair: [0, 0, 1, 1, 2], clip: [0, 0, 1, 1, 2]}, state: {group: GROUP}, metric: "m",
      columns: {state: "aaaam", fixed: {m: "0011-"}, samples: {m: COLUMN}, item_right: "1011-"}}"""
    find = "(() => { const view = VIEW; const found = reprise.samples.find(view, view.columns, ITEMS);"

    def run(column: str, group: str, items: str, result: str) -> object:
        code = find.replace("VIEW", view).replace("GROUP", f"'{group}'").replace("COLUMN", f"'{column}'")
        return viewer.value(f"{code.replace('ITEMS', items)} return {result}; }})()")

    samples = "found.all.map(({ noun, members, wrong, isRight }) => [noun, members, wrong, isRight])"
    assert run("pair", "", "[0, 1, 2, 3, 4]", samples) == [["pair", [0, 1], [1], False], ["pair", [2, 3], [], True]]
    assert run("clip_id", "g", "[0, 2]", samples) == [["video", [0], [], True], ["video", [2], [], True]]
    order = "reprise.samples.sortWrongFirst(view, [4, 3, 2, 1, 0], found)"
    assert run("pair", "", "[0, 1, 2, 3, 4]", order) == [1, 0, 3, 2, 4]
    assert run("item_id", "", "[0]", "found") is None


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_filmstrips_are_accessible_and_fit_the_window(
    browser: Browser, temporal_folder: Path, width: int, colours: Literal["light", "dark"]
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=colours)
    viewer = Viewer(page, f"{temporal_folder.as_uri()}/")
    for name in ("index.html", "items.html"):
        viewer.open(name)
        viewer.until("Boolean(document.querySelector('.filmstrip, .saw'))")
        assert viewer.find_violations() == []
        assert viewer.value("document.documentElement.scrollWidth <= innerWidth"), "nothing is wider than the window"
    page.close()
