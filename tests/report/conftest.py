"""Fixtures: a report of a few items, two of them hostile, and a browser that opens it from disk or from a server."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import chdir
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from imageio_ffmpeg import get_ffmpeg_exe
from playwright.sync_api import Browser, Page, sync_playwright
from reprise.core.files import write_text
from reprise.core.paths import table_file
from reprise.report.keys import ReportedTable
from reprise.tables.keys import TableKey

from tests.report.viewer import Viewer
from tests.unit.report.test_bad_input import make_table_key
from tests.unit.report.world import OTHER_RUN, RUN, World, make_clip, make_requests, make_responses, make_verdicts
from tests.unit.rows import item_row, response_row, verdict_row

HOSTILE = '<img src=x onerror="window.ran=1"><script>window.ran=1</script> \u202eevil\u202c \x00 שלום & \\textbf{x}'
LONG = "word " * 200_000


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a folder with the report and the store with its clips."""
    folder = tmp_path_factory.mktemp("site")
    world = World(folder)
    write_video(folder / "store/clips/aa/aa.mp4")
    broken = folder / "store/clips/bb/bb.mp4"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"no video")
    world.clips.append(make_clip("c3", "ok", "clips/bb/bb.mp4"))
    world.plans.append({"clip_id": "c3", "indices": [0, 5], "times_s": [0.0, 0.2], "note": ""})
    world.items[0]["texts"].append({"name": "negative", "text": "A man sleeps."})
    texts = [{"name": "positive", "text": HOSTILE}, {"name": "negative", "text": f"{HOSTILE} again {LONG}"}]
    world.items.append(item_row("<b>d</b>", clip_id="c3", cluster="u3", task="coref", texts=texts))
    world.requests += make_requests("<b>d</b>", "c3")
    failed = response_row("<b>d</b>#neg", error="Timeout")
    responses = [*make_responses("a", 0.9, 0.4), response_row("<b>d</b>#pos", HOSTILE), failed]
    bad_verdicts = [verdict_row("<b>d</b>#pos", unparsed=True), verdict_row("<b>d</b>#neg", failed=True)]
    verdicts = [*make_verdicts("a", 0.9, 0.4), *bad_verdicts]
    authors_verdicts = [*verdicts[:2], verdict_row("<b>d</b>#pos", "Yes", right=True), verdicts[3]]
    world.runs[RUN] = (responses, verdicts, authors_verdicts)
    other_verdicts = [*make_verdicts("a", 0.2, 0.4), *make_verdicts("<b>d</b>", 0.7, 0.1)]
    world.runs[OTHER_RUN] = (
        [*make_responses("a", 0.2, 0.4), *make_responses("<b>d</b>", 0.7, 0.1)],
        other_verdicts,
        other_verdicts,
    )
    counts = dict.fromkeys(("requested", "scored", "failed", "unparsed", "missing"), 1)
    row = {"metric": "strict", "group": "agent_bind", "value": 100.0, "convention": "fixed", "extractor": "robust"}
    world.metrics = [{"run": RUN, **row, **counts}]
    world.settings = {"tables/velociti/table2": TableKey.model_validate(make_table_key())}
    world.tables = (ReportedTable(name="table2"),)
    world.is_recorded = True
    with chdir(folder):  # the folder of the suite's tables
        write_text(table_file("velociti", "table2", "csv"), "row,value\nOne,100.0\n")
        world.build()
    return folder


def write_video(path: Path) -> None:
    """Write two seconds of H.264."""
    path.parent.mkdir(parents=True)
    source = ("-f", "lavfi", "-i", "testsrc=size=128x96:rate=24:duration=2")
    subprocess.run([get_ffmpeg_exe(), "-v", "error", *source, "-pix_fmt", "yuv420p", str(path)], check=True)


class Quiet(SimpleHTTPRequestHandler):
    """Serve files as Python does, without byte ranges and without a log."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(params=["file", "http"])
def base(request: pytest.FixtureRequest, folder: Path) -> str:
    """Return the address of the report: on disk or on a server."""
    if request.param == "file":
        return f"{folder.as_uri()}/"
    return str(request.getfixturevalue("served"))


@pytest.fixture(params=[1280, 390])
def wide(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def viewer(browser: Browser, folder: Path) -> Iterator[Viewer]:
    """Open a desktop window on the report on disk."""
    yield from open_viewer(browser, f"{folder.as_uri()}/", 1280)


@pytest.fixture
def any_viewer(browser: Browser, base: str, wide: int) -> Iterator[Viewer]:
    """Open windows of both widths, on disk and on a server."""
    yield from open_viewer(browser, base, wide)


@pytest.fixture
def phone(browser: Browser, folder: Path) -> Iterator[Viewer]:
    yield from open_viewer(browser, f"{folder.as_uri()}/", 390)


def open_viewer(browser: Browser, base: str, width: int) -> Iterator[Viewer]:
    page: Page = browser.new_page(viewport={"width": width, "height": 800})
    viewer = Viewer(page, base)
    yield viewer
    page.close()
    assert viewer.errors == [], "no errors in the console"
    assert viewer.external_requests == [], "no request leaves the site"
