"""The whole workflow on a small suite of real clips: what runs, what does not, and what the tables say."""

import base64
import csv
import html
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest
from reprise.core.checksums import keys_of
from reprise.core.files import file_digest
from reprise.core.schemas import RESPONSES, write_table
from reprise.tables.render.html import content_of_page

from tests.workflow.conftest import Project

BROWSER_LINK = re.compile(r'<a href="\.\./items\.html#[^"]+">(.*?)</a>')


def cells(project: Project, table: str) -> dict[tuple[str, str], dict[str, str]]:
    """The rows of a tidy table by row label and column, as the fixed convention has them."""
    with (project.root / f"results/tables/velociti/{table}.csv").open() as stream:
        return {(row["row"], row["column"]): row for row in csv.DictReader(stream) if row["convention"] != "authors"}


def responses(project: Project) -> dict[str, tuple[str, int]]:
    """Digest and time of every response file."""
    found = (project.root / "results/small/responses").rglob("*.parquet")
    return {str(path.relative_to(project.root)): (file_digest(path), path.stat().st_mtime_ns) for path in found}


def test_baselines_reach_their_closed_forms(small: Project) -> None:
    table = cells(small, "table2")
    assert float(table["Oracle", "Avg"]["value"]) == 100
    assert float(table["Always Yes", "Avg"]["value"]) == 0
    assert float(table["Random", "Avg"]["value"]) == 25
    choice = cells(small, "table5")
    assert [float(choice["Always A", column]["value"]) for column in ("A", "B", "Both")] == [100, 0, 0]
    assert float(cells(small, "table11")["Ctrl", "Samples"]["value"]) == 4


def test_every_number_leads_back_to_its_answers(small: Project) -> None:
    row = cells(small, "table2")["Oracle", "Ctrl"]
    assert (row["asked"], row["scored"], row["failed"], row["missing"]) == ("4", "4", "0", "0")
    answers = pl.read_parquet(small.root / f"results/small/responses/{row['run']}.parquet")
    assert set(answers["key"]) == {row["key"]}
    assert set(answers["frames_shown"]) == {0}, "a baseline looks at no frame"


def test_a_second_run_does_nothing(small: Project) -> None:
    assert small.made() == []


def test_one_table_runs_only_what_it_needs(fresh: Project) -> None:
    jobs = fresh.planned("results/tables/velociti/table5.tex")
    assert jobs.count("infer") == 2 and jobs.count("table") == 1 and "statistics" not in jobs


def test_a_figure_runs_only_what_it_needs(fresh: Project) -> None:
    jobs = fresh.planned("results/figures/velociti/fig3.pdf")
    assert jobs.count("infer") == 2 and jobs.count("figure") == 1 and "statistics" not in jobs and "table" not in jobs


def test_figures_have_the_numbers_of_tables(small: Project) -> None:
    assert small.made("figures") == ["figure", "figure", "figures"]
    folder = small.root / "results/figures/velociti"
    assert {path.suffix for path in folder.glob("fig3.*")} == {".pdf", ".svg", ".png", ".csv"}
    with (folder / "own_strict.csv").open() as stream:
        figure = {
            (row["row"], row["column"]): row["value"]
            for row in csv.DictReader(stream)
            if row["convention"] != "authors"
        }
    assert figure == {place: row["value"] for place, row in cells(small, "table2").items()}
    with (folder / "fig3.csv").open() as stream:
        points = list(csv.DictReader(stream))
    assert [row["region"] for row in points if (row["row"], row["group"]) == ("Oracle", "control")] == ["strict"] * 4


def test_the_report_has_the_tables_with_links_and_every_answer(small: Project) -> None:
    assert set(small.made("report")) == {"figure", "report", "report_site"}
    folder = small.root / "results/report"
    page = (folder / "tables/velociti.html").read_text(encoding="utf-8")
    for table in ("table2", "table5", "table11"):
        plain = content_of_page((small.root / f"results/tables/velociti/{table}.html").read_text(encoding="utf-8"))
        assert plain.strip() in BROWSER_LINK.sub(r"\1", page), "the same table, but for its links"
    links = re.findall(r'<a href="\.\./items\.html#([^"]+)">100\.0</a>', page)
    assert (
        html.unescape(links[0])
        == "b=velociti&run=velociti%2Fentail%2Ffps1%2Foracle&metric=strict&group=control&made=strict%2Fcontrol"
    )
    chunk = (folder / "data/velociti/items/0.js").read_text(encoding="utf-8")
    assert chunk.startswith('reprise.put("velociti/items/0", [{"texts":') and '"0":[{"role":"pos"' in chunk
    assert (folder / "figures/velociti/fig3.svg").is_file()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert small.made("report") == []
    (folder / "index.html").unlink()
    assert small.made("report") == ["report", "report_site"]
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_table_of_the_data_asks_no_model(fresh: Project) -> None:
    jobs = fresh.planned("results/tables/velociti/table11.md")
    assert jobs == ["annotations", "release", "statistics", "table"]


def test_a_changed_setting_reruns_exactly_its_run(small: Project) -> None:
    """Also where Snakemake's own memory is lost: the key file is an input."""
    shutil.rmtree(small.root / ".snakemake/metadata")
    before = responses(small)
    small.edit("config/models/random.yaml", "adapter: random", "adapter: random\nsettings: {seed: 1}")
    expected = ["all", *["collected_table"] * 3, "infer", "score", "table"]
    assert small.planned() == expected
    assert small.made() == expected
    after = responses(small)
    changed = {name for name in before if before[name] != after[name]}
    assert {name.split("/")[-1].split(".")[0] for name in changed} == {"random"}
    assert small.made() == []


def test_going_back_asks_nothing_again(small: Project) -> None:
    before = {name: digest for name, (digest, _) in responses(small).items() if "timings" not in name}
    small.edit("config/models/random.yaml", "adapter: random", "adapter: random\nsettings: {seed: 1}")
    small.made()
    small.edit("config/models/random.yaml", "adapter: random\nsettings: {seed: 1}", "adapter: random")
    small.made()
    after = {name: digest for name, (digest, _) in responses(small).items() if "timings" not in name}
    assert after == before
    timings = pl.read_parquet(small.root / "results/small/responses/velociti/mc/fps1/random.timings.parquet")
    assert (timings["resumed"] == timings["requests"]).all()


def test_a_comment_reruns_nothing_and_a_statement_its_stage(small: Project) -> None:
    small.edit("workflow/reprise/stages/metrics.py", "def main() -> None:", "# a remark\ndef main() -> None:")
    assert small.made() == []
    small.edit(
        "workflow/reprise/stages/metrics.py",
        'log.info(f"{frame.height} numbers")',
        'log.info(f"{frame.height} values")',
    )
    assert set(small.planned()) == {"all", "collected_table", "score", "table"}


def test_switching_suites_never_mixes_their_numbers(small: Project) -> None:
    """Another suite of the same tables with other models, there and back."""
    small.write("config/suites/other.yaml", (small.root / "config/suites/small.yaml").read_text()
        .replace("title: Small", "title: Other").replace("run: [local]", "run: [oracle]"))  # fmt: skip
    first = (small.root / "results/tables/velociti/table2.md").read_text()
    small.made("--config", "suite=other")
    second = (small.root / "results/tables/velociti/table2.md").read_text()
    assert "Suite other" in second and "Suite other" not in first
    assert ("Always Yes", "Avg") not in cells(small, "table2"), "not run in the other suite"
    assert "infer" not in (jobs := small.made()) and "table" in jobs
    assert (small.root / "results/tables/velociti/table2.md").read_text() == first


def test_unchanged_content_of_another_shard_count_is_not_made_again(small: Project) -> None:
    clips = sorted((small.root / "resources/store/clips").rglob("*.mp4"))
    times = [path.stat().st_mtime_ns for path in clips]
    small.edit("config/suites/small.yaml", "shards: 2", "shards: 3")
    small.made()
    again = sorted((small.root / "resources/store/clips").rglob("*.mp4"))
    assert again == clips and [path.stat().st_mtime_ns for path in again] == times


# --- bad data ------------------------------------------------------------------------------------------------------


def test_a_missing_video_is_counted_and_the_table_says_so(fresh: Project) -> None:
    (fresh.root / "videos/bbbbbbbbbbb.mp4").unlink()
    fresh.made("results/tables/velociti/table2.md")
    row = cells(fresh, "table2")["Oracle", "Ctrl"]
    assert (row["asked"], row["missing"], float(row["value"])) == ("3", "1", 100.0)
    assert "without a clip" in (fresh.root / "results/tables/velociti/table2.md").read_text()


def test_a_truncated_video_is_a_named_status_and_no_crash(fresh: Project) -> None:
    video = fresh.root / "videos/aaaaaaaaaaa.mp4"
    video.write_bytes(video.read_bytes()[: video.stat().st_size // 2])
    fresh.made("results/tables/velociti/table11.md")
    fresh.snakemake("results/tables/velociti/table2.md")
    ledgers = [pl.read_parquet(path) for path in (fresh.root / "results/small/sources/velociti").glob("*.parquet")]
    statuses = dict(pl.concat(ledgers).select("source_id", "status").iter_rows())
    assert statuses["bbbbbbbbbbb"] == "ok" and statuses["aaaaaaaaaaa"] != "ok"


def test_too_many_missing_clips_stop_the_table(fresh: Project) -> None:
    fresh.edit("config/suites/small.yaml", "missing_share_max: 0.5", "missing_share_max: 0.1")
    (fresh.root / "videos/bbbbbbbbbbb.mp4").unlink()
    done = fresh.snakemake("results/tables/velociti/table2.md")
    assert done.returncode != 0
    assert "25.0 % of the items of velociti/entail/fps1/" in done.stdout + done.stderr
    assert not (fresh.root / "results/tables/velociti/table2.md").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("test_name", "test", "column 'test_name' is missing. Found: test, video_id"),
        ("v_aaaaaaaaaaa_seg_0_10", "", "row 1: 'video_id' is empty"),
    ],
)
def test_a_broken_release_stops_with_one_message(fresh: Project, old: str, new: str, message: str) -> None:
    fresh.edit("release/rows.csv", old, new)
    done = fresh.snakemake("results/tables/velociti/table11.md")
    assert done.returncode != 0 and message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not list((fresh.root / "results/small/annotations").rglob("*.parquet"))


def test_flawed_rows_stop_nothing_and_are_named_below_the_table(fresh: Project) -> None:
    fresh.edit("release/rows.csv", "control 0 holds", "")
    fresh.edit("release/rows.csv", "coref,", "corf,")
    fresh.made("results/tables/velociti/table2.md", "results/tables/velociti/table11.md")
    row = cells(fresh, "table2")["Oracle", "Ctrl"]
    assert (row["asked"], row["missing"], float(row["value"])) == ("3", "1", 100.0)
    assert cells(fresh, "table2")["Oracle", "Avg"]["asked"] == "27", "one of the 28 counts in no test"
    line = (
        "Flawed entries of the release: 2 (row 1: 'pos' is empty, so it is not asked and counts as missing; "
        "row 13: unknown test 'corf'; it counts in no test. Did you mean 'coref'?)."
    )
    for table in ("table2", "table11"):
        assert line in (fresh.root / f"results/tables/velociti/{table}.md").read_text()
    log = (fresh.root / "results/small/logs/annotations/velociti.log").read_text()
    assert "rows.csv: row 1: 'pos' is empty" in log and "rows.csv: row 13: unknown test 'corf'" in log


def test_a_published_value_that_is_no_number_stops_the_table(small: Project) -> None:
    small.edit("config/suites/small.yaml", "show_published: false", "show_published: true")
    small.edit(
        "resources/published/velociti.csv",
        "velociti,table2,Random,,control,strict,25",
        "velociti,table2,Random,,control,strict,~25",
    )
    done = small.snakemake("results/tables/velociti/table2.md")
    assert done.returncode != 0
    assert "resources/published/velociti.csv: line 2: value '~25" in done.stdout + done.stderr


def test_answers_of_another_key_are_refused(small: Project) -> None:
    path = small.root / "results/small/responses/velociti/mc/fps1/random.parquet"
    other = pl.read_parquet(path).with_columns(key=pl.lit("0" * 64))
    write_table(other, path, RESPONSES, keys_of(path) or {})
    done = small.snakemake("results/tables/velociti/table5.md")
    assert done.returncode != 0 and "rows carry key 000000000000" in done.stdout + done.stderr


def test_a_parquet_of_another_schema_names_file_and_column(small: Project) -> None:
    path = small.root / "results/small/metrics/velociti/mc/fps1/random.parquet"
    other = pl.read_parquet(path).drop("missing")
    write_table(other, path, other.schema, keys_of(path) or {})
    done = small.snakemake("results/tables/velociti/table5.md")
    assert done.returncode != 0
    assert "random.parquet: column 'missing' is missing, expected Int32" in done.stdout + done.stderr


def test_a_table_that_no_paper_has_is_named(small: Project) -> None:
    done = small.snakemake("results/tables/table99.tex")
    assert done.returncode != 0
    assert (
        "results/tables/table99.tex: no paper of suite 'small' has a 'table99'. There are: table2 (velociti)"
        in done.stderr
    )
    assert "reprise/plan/" not in done.stderr


def test_a_mistake_in_the_configuration_is_one_message(small: Project) -> None:
    small.edit("config/models/oracle.yaml", "adapter: oracle", "adapter: orcale")
    done = small.snakemake("--dry-run")
    assert done.returncode != 0
    message = "config/models/oracle.yaml: line 3: adapter: unknown adapter 'orcale'. Did you mean 'oracle'?"
    assert message in done.stdout + done.stderr and "Traceback (most recent" not in done.stdout + done.stderr


# --- kills ---------------------------------------------------------------------------------------------------------


def test_a_killed_workflow_resumes_and_equals_an_unbroken_one(fresh: Project, finished_small: Path) -> None:
    """SIGKILL to the whole process group at several moments, then the plain command."""
    command = ["python", "-m", "snakemake", "--cores", "2"]
    for seconds in (2.0, 4.0, 6.0):
        process = subprocess.Popen(
            command, cwd=fresh.root, env=_environment(fresh), start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(seconds)
        if process.poll() is None:
            _kill_group(process)
        process.wait()
        assert fresh.snakemake("--unlock").returncode == 0
    fresh.made()
    ours, theirs = (
        {str(p.relative_to(root)): file_digest(p) for p in (root / "results").rglob("*.parquet") if "timings" not in p.name}
        for root in (fresh.root, finished_small)
    )  # fmt: skip
    assert ours == theirs


def _environment(project: Project) -> dict[str, str]:
    import os
    import sys

    return os.environ | {
        "PYTHONPATH": str(project.root / "workflow"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    import os

    os.killpg(process.pid, signal.SIGKILL)


def test_a_copy_without_metadata_has_nothing_to_do(small: Project, tmp_path: Path) -> None:
    """Results and store moved to another folder, Snakemake's records left behind."""
    shutil.copytree(small.root, tmp_path / "other", symlinks=True, ignore=shutil.ignore_patterns(".snakemake"))
    assert Project(tmp_path / "other").made() == []


def test_snakemakes_own_report_carries_tables_and_figures_with_captions_and_needs_no_network(small: Project) -> None:
    small.edit("config/tables/small.yaml", "caption: Strict.", "caption: Strict `*entailment*` | {{ x }} <b>_.")
    figure = "results/figures/velociti/own_strict.png"
    targets = ["all", figure]
    small.made(*targets)
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    done = small.snakemake(*targets, "--report", "report.html", environment=nowhere)
    assert done.returncode == 0, done.stderr
    page = (small.root / "report.html").read_text()
    for path in (figure, *(f"results/tables/velociti/{table}.html" for table in ("table2", "table5", "table11"))):
        assert base64.b64encode((small.root / path).read_bytes()).decode() in page, path
    assert "Strict `*entailment*` | {{ x }} &lt;b&gt;_." in page
    for words in ("VELOCITI", "Table 2", "StrictVLE", "Our analysis"):
        assert words in page
    assert not re.findall(r"""(?:src|href)=["']https?://[^"']+\.(?:js|css)["']""", page), (
        "nothing is loaded from elsewhere"
    )
