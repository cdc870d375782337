"""A report of a few items, two of them hostile, and a browser that looks at it from a file and from a server."""

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
from tests.unit.report.test_bad_input import table_of
from tests.unit.report.world import OTHER, RUN, World, answers, clip, pair, read
from tests.unit.rows import item_row, response_row, verdict_row

HOSTILE = '<img src=x onerror="window.ran=1"><script>window.ran=1</script> \u202eevil\u202c \x00 שלום & \\textbf{x}'
LONG = "word " * 200_000


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the report and the store that its clips lie in."""
    folder = tmp_path_factory.mktemp("site")
    world = World(folder)
    _video(folder / "store/clips/aa/aa.mp4")
    broken = folder / "store/clips/bb/bb.mp4"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"no video")
    world.clips.append(clip("c3", "ok", "clips/bb/bb.mp4"))
    world.plans.append({"clip_id": "c3", "indices": [0, 5], "times_s": [0.0, 0.2], "note": ""})
    world.items[0]["texts"].append({"name": "negative", "text": "A man sleeps."})
    texts = [{"name": "positive", "text": HOSTILE}, {"name": "negative", "text": f"{HOSTILE} again {LONG}"}]
    world.items.append(item_row("<b>d</b>", clip_id="c3", unit="u3", task="coref", texts=texts))
    world.requests += pair("<b>d</b>", "c3")
    failed = response_row("<b>d</b>#neg", error="Timeout")
    mine = [*answers("a", 0.9, 0.4), response_row("<b>d</b>#pos", HOSTILE), failed]
    bad = [verdict_row("<b>d</b>#pos", unparsed=True), verdict_row("<b>d</b>#neg", failed=True)]
    verdicts = [*read("a", 0.9, 0.4), *bad]
    theirs = [*verdicts[:2], verdict_row("<b>d</b>#pos", "Yes", right=True), verdicts[3]]
    world.runs[RUN] = (mine, verdicts, theirs)
    other = [*read("a", 0.2, 0.4), *read("<b>d</b>", 0.7, 0.1)]
    world.runs[OTHER] = ([*answers("a", 0.2, 0.4), *answers("<b>d</b>", 0.7, 0.1)], other, other)
    counts = dict.fromkeys(("asked", "scored", "failed", "unparsed", "missing"), 1)
    named = {"metric": "strict", "group": "agent_bind", "value": 100.0, "convention": "fixed", "reader": "robust"}
    world.metrics = [{"run": RUN, **named, **counts}]
    world.made_with = {"tables/velociti/table2": TableKey.model_validate(table_of())}
    world.tables = (ReportedTable(name="table2"),)
    world.is_recorded = True
    with chdir(folder):  # where the tables of a suite lie
        write_text(table_file("velociti", "table2", "csv"), "row,value\nOne,100.0\n")
        world.build()
    return folder


def _video(path: Path) -> None:
    """Two seconds of H.264."""
    path.parent.mkdir(parents=True)
    source = ("-f", "lavfi", "-i", "testsrc=size=128x96:rate=24:duration=2")
    subprocess.run([get_ffmpeg_exe(), "-v", "error", *source, "-pix_fmt", "yuv420p", str(path)], check=True)


class Quiet(SimpleHTTPRequestHandler):
    """Serves files as Python does, without byte ranges, and says nothing."""

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
        found = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(params=["file", "http"])
def base(request: pytest.FixtureRequest, folder: Path) -> str:
    """Where the report is looked at."""
    if request.param == "file":
        return f"{folder.as_uri()}/"
    return str(request.getfixturevalue("served"))


@pytest.fixture(params=[1280, 390])
def wide(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def viewer(browser: Browser, folder: Path) -> Iterator[Viewer]:
    """A window of a desktop that looks at the report's files."""
    yield from _viewer(browser, f"{folder.as_uri()}/", 1280)


@pytest.fixture
def any_viewer(browser: Browser, base: str, wide: int) -> Iterator[Viewer]:
    """Windows of both widths, at files and at a server."""
    yield from _viewer(browser, base, wide)


@pytest.fixture
def phone(browser: Browser, folder: Path) -> Iterator[Viewer]:
    yield from _viewer(browser, f"{folder.as_uri()}/", 390)


def _viewer(browser: Browser, base: str, width: int) -> Iterator[Viewer]:
    page: Page = browser.new_page(viewport={"width": width, "height": 800})
    viewer = Viewer(page, base)
    yield viewer
    page.close()
    assert viewer.errors == [], "nothing goes wrong in the console"
    assert viewer.elsewhere == [], "no request leaves the site"
