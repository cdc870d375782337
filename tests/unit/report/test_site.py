"""Test the folder of the report and its pages."""

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
from reprise.core.files import write_text
from reprise.core.paths import figure_file, settings_name
from reprise.figures.keys import FigureKey
from reprise.models.keys import RunKey
from reprise.report.keys import ReportedTable
from reprise.report.missing_page import parse_missing_list
from reprise.report.names import read_table_names
from reprise.report.runs import RunSummary
from reprise.report.tables import Links
from reprise.stages.missing import _listing
from reprise.tables.keys import TableKey

from tests.unit.report.test_bad_input import make_table_key
from tests.unit.report.world import OTHER_RUN, RUN, World, make_metric
from tests.unit.rows import response_row, verdict_row
from tests.unit.tables.full_tables import list_settings

ITEMS_OF_RUN = "items.html#b=velociti&run=velociti%2Fentail%2Ffps1%2Fone"


def test_builds_are_identical_and_remove_old_files(world: World, tmp_path: Path) -> None:
    world.build()
    first = world.files()
    old_files = [world.root / name for name in ("data/old.js", "runs/old.html", "old.html", "media/old.mp4")]
    for path in old_files:
        path.parent.mkdir(exist_ok=True)
        path.write_text("old")
    manifest = world.root / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "old.html": "", "../old.html": ""}))
    user_files = [world.root / "notes.txt", world.root / "notes.html", world.root.parent / "old.html"]
    for path in user_files:
        path.write_text("mine")
    world.build()
    assert not any(path.exists() for path in old_files)
    for path in user_files:  # each still exists
        path.unlink()
    assert world.files() == first
    another = World(tmp_path / "another")
    another.build()
    assert another.files() == first, "files contain no absolute path"
    digest_by_name = json.loads(first.pop("manifest.json"))
    assert digest_by_name == {name: sha256(content).hexdigest() for name, content in first.items()}


def test_no_page_names_folders_of_this_machine(world: World) -> None:
    """Users send the report to others, so settings and messages have no absolute paths."""
    path = "/home/someone/checkpoints/mine"
    world.clips[1]["message"] = f"{path}.mp4 is damaged"
    failed = [verdict_row("a#pos", failed=True)]
    world.runs[RUN] = ([response_row("a#pos", error="Timeout", message=f"cannot read '{path}'")], failed, failed)
    answers = {"adapter": "random", "sampling": {"folder": path}}
    world.settings = {RUN: RunKey.model_validate({"run": RUN, "key": "k", "answers": answers})}
    world.build()
    files = world.files()
    assert [name for name, content in files.items() if b"someone" in content] == []
    page = files["runs/velociti.entail.fps1.one.html"].decode()
    assert (
        "<td>[path]/checkpoints/mine</td>" in page
        and "[path]/checkpoints/mine.mp4" in world.data("velociti/clips/0")[1]["message"]
    )


def test_clips_are_copied_on_request(world: World) -> None:
    video = world.store / "clips/aa/aa.mp4"
    video.parent.mkdir(parents=True)
    video.write_bytes(b"video")
    world.key_changes = {"clips": "copy"}
    world.build()
    assert world.data("velociti/clips/0")[0]["media"] == "media/aa.mp4"
    assert world.files()["media/aa.mp4"] == b"video"
    video.unlink()
    world.build()
    assert world.data("velociti/clips/0")[0]["media"] == "", "the clip is no longer in the store"
    assert "media/aa.mp4" not in world.files()


def test_links_are_valid_and_pages_have_landmarks(world: World) -> None:
    world.metrics = [make_metric("strict", "average", 50.0)]
    world.build()
    files = world.files()
    for name in files:
        if name.endswith(".html") and name != "items.html":
            for address in re.findall(r'(?:href|src)="([^"]+)"', files[name].decode()):
                target, _, _ = address.partition("#")
                path = (world.root / name).parent / target if target else world.root / name
                exists = path.resolve().is_file() or target.endswith("items.html") or target == "data:,"
                assert exists, f"{name}: {address}"
    page = files["index.html"].decode()
    for landmark in (
        '<html lang="en">',
        "<header",
        '<nav aria-label="Report">',
        '<main id="content">',
        'href="#content"',
    ):
        assert landmark in page
    assert page.count("<h1") == 1 and 'aria-current="page"' in page


def test_a_run_page_has_failures_settings_and_health(world: World) -> None:
    failed = [verdict_row("a#pos", failed=True)]
    world.runs[RUN] = ([response_row("a#pos", error="Timeout", message="<b>late</b>")], failed, failed)
    world.metrics = [make_metric("strict", "average", None), make_metric("health_same", "answers", 100.0)]
    world.build()
    page = world.files()["runs/velociti.entail.fps1.one.html"].decode()
    first_page = world.files()["index.html"].decode()
    assert f'<a href="{ITEMS_OF_RUN}&show=failed" class="bad">1</a>'.replace("&", "&amp;") in first_page
    assert "<b>late" not in page
    sentence = re.search(r"<p>(Items asked.*?)</p>", page, re.DOTALL)
    assert sentence and " ".join(re.sub("<[^>]*>", "", sentence[1]).split()) == (
        "Items asked: 1, answers: 1. Items with a failed answer: 1, with an unparsed answer: 0, on which the two "
        "extractors differ: 0, not asked because they have no clip: 2."
    )
    assert "adapter</th><td>random</td>" in page
    assert page.index("Looks healthy.") < page.index("<td>strict, average<"), "health before the numbers"
    assert page.index("<td>strict, average<") < page.index("health_same"), "health metrics follow the other metrics"
    assert f'<a href="../{ITEMS_OF_RUN}&metric=strict&group=average">'.replace("&", "&amp;") in page


def test_a_run_page_leaves_out_what_says_nothing(world: World) -> None:
    """Columns of zeros, and the authors' values if they are the same."""
    counts = {"requested": 1, "scored": 1, "failed": 0, "unparsed": 0, "missing": 0}
    same = make_metric("strict", "average", 62.345) | counts
    world.metrics = [same, same | {"convention": "authors"}]
    world.build()
    page = world.files()["runs/velociti.entail.fps1.one.html"].decode()
    numbers = page[page.index('id="numbers"') : page.index("</table>", page.index('id="numbers"'))]
    assert "62.35" in numbers
    assert "give the same" in numbers and ">Authors'<" not in numbers
    assert all(f">{name}</th>" not in numbers for name in ("failed", "unparsed", "missing", "Note"))
    world.metrics = [same | {"failed": 1}, same | {"convention": "authors", "value": 60.0}]
    world.build()
    page = world.files()["runs/velociti.entail.fps1.one.html"].decode()
    assert ">Authors'</th>" in page and ">60.00</td>" in page and ">failed</th>" in page


def test_a_figure_without_numbers_is_only_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {
        key.figure: key for key in list_settings("paper") if isinstance(key, FigureKey) and key.benchmark == "velociti"
    }
    world.figures = ("fig3", "fig4")
    world.settings |= {settings_name("figures", "velociti", figure): keys[figure] for figure in world.figures}
    monkeypatch.chdir(world.root.parent)
    for figure, rows in (("fig3", ""), ("fig4", "paper,fig4\n")):
        for kind in ("csv", "pdf", "png", "svg"):
            write_text(figure_file("velociti", figure, kind), f"suite,figure\n{rows}" if kind == "csv" else kind)
    world.build()
    page, first_page = (world.files()[name].decode() for name in ("figures/velociti.html", "index.html"))
    assert [name for name in world.figures if f"velociti/{name}.svg" in page] == ["fig4"]
    assert f"<li>VELOCITI, Figure 3: {keys['fig3'].spec.title}</li>" in page
    assert "velociti.html#fig4" in first_page and "velociti.html#fig3" not in first_page
    assert not any("fig3" in name for name in world.files())


def test_metrics_and_groups_have_the_names_of_the_tables(world: World) -> None:
    table = make_table_key(caption="StrictVLE") | {"abbreviations": {"AgBind": "agent binding"}}
    world.tables = (ReportedTable(name="table2"),)
    names = read_table_names(world.key.benchmarks[0], {"tables/velociti/table2": TableKey.model_validate(table)})
    assert names.metric_name("strict", "agent_bind") == "StrictVLE: AgBind (agent binding)"
    assert names.groups == {"agent_bind": "AgBind (agent binding)"}
    assert names.decimals == {("strict", "agent_bind"): 1}
    assert names.metric_name("mc_bias", "agent_bind") == "mc bias, AgBind (agent binding)", (
        "a metric that no table shows"
    )
    assert names.metric_name("health_cut", "answers") == "answers, truncated at the token limit"


def test_numbers_link_to_their_items() -> None:
    address = Links(
        {RUN: RunSummary(1, 0, 0, 0, 0, 1, [], frozenset({"strict"}), frozenset({"coref"}), {})}
    ).items_address
    assert address(RUN, "strict", "coref") == f"{ITEMS_OF_RUN}&metric=strict&group=coref"
    assert address(RUN, "mc_bias", "answers") == ITEMS_OF_RUN, (
        "the link has no filter if single items do not have the metric"
    )
    assert address(RUN, "mc_bias", "answers", show_provenance=True) == f"{ITEMS_OF_RUN}&provenance=mc_bias%2Fanswers"
    assert address("velociti/data", "samples", "coref") == "items.html#b=velociti&group=coref&show=all"
    assert address(OTHER_RUN, "strict") == address("vinoground/data", "samples") == "", "the run is not in the report"


def test_the_list_of_missing_clips_is_parsed() -> None:
    missing_clips = [{"clip_id": "c|1", "status": "gone", "message": "<script>alert(1)</script> | a\\b `c` "}]
    text = "# Missing videos\n\n## VELOCITI\n\nSources: all 2 are available.\nClips: 1 of 2 missing: 1 gone.\n"
    (section,) = parse_missing_list("\n".join([text, *_listing("Clip", missing_clips)]))
    assert (section["title"], section["lines"][0]) == ("VELOCITI", "Sources: all 2 are available.")
    ((head, row),) = section["tables"]
    assert head == ["Clip", "Reason", "Meaning", "Message"]
    assert [row[0], row[3]] == ["c|1", "<script>alert(1)</script> | a\\b `c`"]
    assert parse_missing_list("# Missing videos\n") == []


@pytest.mark.parametrize("is_baseline", [False, True])
def test_a_run_that_looks_broken_is_marked_unless_it_is_a_baseline(world: World, is_baseline: bool) -> None:
    world.metrics = [make_metric("health_option", "answers: <b>", 100.0) | {"requested": 40}]
    world.is_baseline = is_baseline
    world.build()
    page = world.files()["runs/velociti.entail.fps1.one.html"].decode()
    assert ('<p class="broken">Looks broken: 100.0 % of 40 answers are' in page) == (not is_baseline)
    assert "<b>" not in page
