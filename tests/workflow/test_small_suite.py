"""The whole workflow on a small suite of real clips: what runs, what does not, and what the tables say."""

import base64
import html
import re
import shutil

import polars as pl
from reprise.tables.render.html import extract_content

from tests.workflow.conftest import Project

BROWSER_LINK = re.compile(r'<a href="\.\./items\.html#[^"]+">(.*?)</a>')


def test_numbers_are_those_of_closed_forms_and_lead_back_to_their_answers(small: Project) -> None:
    table, choice = small.cells("velociti/table2"), small.cells("velociti/table5")
    assert [float(table[row, "Avg"]["value"]) for row in ("Oracle", "Always Yes", "Random")] == [100, 0, 25]
    assert [float(choice["Always A", column]["value"]) for column in ("A", "B", "Both")] == [100, 0, 0]
    assert float(small.cells("velociti/table11")["Ctrl", "Samples"]["value"]) == 4
    row = table["Oracle", "Ctrl"]
    assert (row["requested"], row["scored"], row["failed"], row["missing"]) == ("4", "4", "0", "0")
    answers = small.parquet(f"small/responses/{row['run']}")
    assert set(answers["key"]) == {row["key"]} and set(answers["frames_shown"]) == {0}, "a baseline looks at no frame"


def test_a_target_runs_only_what_it_needs(fresh: Project) -> None:
    jobs = fresh.planned("results/tables/velociti/table5.tex")
    assert jobs.count("infer") == 2 and jobs.count("table") == 1 and "statistics" not in jobs
    jobs = fresh.planned("results/figures/velociti/fig3.pdf")
    assert jobs.count("infer") == 2 and jobs.count("figure") == 1 and "statistics" not in jobs and "table" not in jobs
    assert fresh.planned("results/tables/velociti/table11.md") == ["annotations", "release", "statistics", "table"]


def test_figures_and_report_have_the_numbers_of_tables(small: Project) -> None:
    assert set(small.made("report", "figures")) == {"figure", "figures", "report", "report_site"}
    folder = small.root / "results/figures/velociti"
    assert {path.suffix for path in folder.glob("fig3.*")} == {".pdf", ".svg", ".png", ".csv"}
    rows = [row for row in small.rows("results/figures/velociti/own_strict.csv") if row["convention"] != "authors"]
    figure = {(row["row"], row["column"]): row["value"] for row in rows}
    assert figure == {place: row["value"] for place, row in small.cells("velociti/table2").items()}
    points = small.rows("results/figures/velociti/fig3.csv")
    assert [row["region"] for row in points if (row["row"], row["group"]) == ("Oracle", "control")] == ["strict"] * 4

    folder = small.root / "results/report"
    page = (folder / "tables/velociti.html").read_text(encoding="utf-8")
    for table in ("table2", "table5", "table11"):
        plain = extract_content(small.text(f"results/tables/velociti/{table}.html"))
        assert plain.strip() in BROWSER_LINK.sub(r"\1", page), "the same table, but for its links"
    links = re.findall(r'<a href="\.\./items\.html#([^"]+)">100\.0</a>', page)
    run = "b=velociti&run=velociti%2Fentail%2Ffps1%2Foracle"
    assert html.unescape(links[0]) == f"{run}&metric=strict&group=control&provenance=strict%2Fcontrol"
    chunk = (folder / "data/velociti/items/0.js").read_text(encoding="utf-8")
    assert chunk.startswith('reprise.put("velociti/items/0", [{"texts":') and '"0":[{"role":"pos"' in chunk
    assert (folder / "figures/velociti/fig3.svg").is_file()
    small.edit("config/tables/small.yaml", "caption: Strict.", "caption: Strict `*entailment*` | {{ x }} <b>_.")
    figure_file = "results/figures/velociti/own_strict.png"
    small.made("all", figure_file)
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    done = small.snakemake("all", figure_file, "--report", "report.html", **nowhere)
    assert done.returncode == 0, done.stderr
    page = small.text("report.html")
    for path in (figure_file, *(f"results/tables/velociti/{table}.html" for table in ("table2", "table5", "table11"))):
        assert base64.b64encode((small.root / path).read_bytes()).decode() in page, path
    assert "Strict `*entailment*` | {{ x }} &lt;b&gt;_." in page
    assert all(words in page for words in ("VELOCITI", "Table 2", "StrictVLE", "Our analysis"))
    assert not re.findall(r"""(?:src|href)=["']https?://[^"']+\.(?:js|css)["']""", page), "all is in the page"


def test_a_changed_setting_reruns_exactly_its_run_and_going_back_asks_nothing_again(small: Project) -> None:
    before = small.digests("responses")
    small.edit("config/models/random.yaml", "adapter: random", "adapter: random\nsettings: {seed: 1}")
    assert small.made() == ["all", "collected_table", "infer", "metrics", "table", "verdicts"]
    after = small.digests("responses")
    changed = {name for name in before if before[name] != after[name]}
    assert {name.split("/")[-1].split(".")[0] for name in changed} == {"random"}
    small.edit("config/models/random.yaml", "adapter: random\nsettings: {seed: 1}", "adapter: random")
    small.made()
    again = small.digests("responses")
    assert all(again[name][0] == before[name][0] for name in before if "timings" not in name)
    timings = small.parquet("small/responses/velociti/mc/fps1/random.timings")
    assert (timings["resumed"] == timings["requests"]).all()


def test_changed_code_reruns_nothing_and_a_version_its_stage(small: Project) -> None:
    """Comments, renamed variables and moved functions: a refactoring is free."""
    small.edit("workflow/reprise/stages/metrics.py", "def main(\n", "# a remark\ndef main(\n")
    words = 'log.info(f"{{frame.height}} {}")'.format
    small.edit("workflow/reprise/stages/metrics.py", words("numbers"), words("values"))
    files = "workflow/reprise/core/files.py"
    digest = "def text_digest(text: str) -> str:\n    return hashlib.sha256(text.encode()).hexdigest()\n\n\n"
    small.edit(files, digest, "")
    moved = digest.replace("text: str", "characters: str").replace("text.encode", "characters.encode")
    small.write(files, f"{small.text(files)}\n\n{moved.rstrip()}\n")
    small.edit("workflow/reprise/media/sampling.py", "import", "# what follows is sorted\nimport")
    assert small.made() == []
    small.edit("workflow/reprise/plan/versions.py", '"metrics": 1', '"metrics": 2')
    assert set(small.planned()) == {"all", "collected_table", "metrics", "table"}


def test_switching_suites_never_mixes_their_numbers(small: Project) -> None:
    """Another suite of the same tables with other models, there and back."""
    other = small.text("config/suites/small.yaml").replace("title: Small", "title: Other")
    small.write("config/suites/other.yaml", other.replace("run: [local]", "run: [oracle]"))
    table = "results/tables/velociti/table2.md"
    first = small.text(table)
    small.made(table, "--config", "suite=other")
    assert "Suite other" in small.text(table) and "Suite other" not in first
    assert ("Always Yes", "Avg") not in small.cells("velociti/table2"), "not run in the other suite"
    assert "infer" not in (jobs := small.made(table)) and "table" in jobs
    assert small.text(table) == first


def test_unchanged_content_of_another_shard_count_is_not_made_again_nor_without_metadata(small: Project) -> None:
    clips = {path: path.stat().st_mtime_ns for path in (small.root / "resources/store/clips").rglob("*.mp4")}
    small.edit("config/suites/small.yaml", "shards: 2", "shards: 3")
    small.made("results/tables/velociti/table5.md")
    assert clips and all(path.stat().st_mtime_ns == made for path, made in clips.items())
    shutil.rmtree(small.root / ".snakemake")
    said = small.refused("results/tables/velociti/table5.md")
    assert "results/small/sources/missing.md (settings of missing changed). Delete them" in said, "it names the shards"
    (small.root / "results/small/sources/missing.md").unlink()
    assert small.made("results/tables/velociti/table5.md") == []


def test_a_missing_video_is_counted_too_many_stop_the_table_and_a_broken_one_has_its_status(fresh: Project) -> None:
    table, video = "results/tables/velociti/table2.md", fresh.root / "videos/bbbbbbbbbbb.mp4"
    content = video.read_bytes()
    video.unlink()
    fresh.made(table)
    row = fresh.cells("velociti/table2")["Oracle", "Ctrl"]
    assert (row["requested"], row["missing"], float(row["value"])) == ("3", "1", 100.0)
    assert "without a clip" in fresh.text(table)
    fresh.edit("config/suites/small.yaml", "missing_share_max: 0.5", "missing_share_max: 0.1")
    assert "25.0 % of the items of velociti/entail/fps1/" in fresh.refused(table)
    assert not (fresh.root / table).exists()
    video.write_bytes(content[: len(content) // 2])
    fresh.made("results/small/sources/missing.md")
    manifests = [pl.read_parquet(path) for path in (fresh.root / "results/small/sources/velociti").glob("*.parquet")]
    statuses = dict(pl.concat(manifests).select("source_id", "status").iter_rows())
    assert statuses["aaaaaaaaaaa"] == "ok" and statuses["bbbbbbbbbbb"] not in ("ok", "not_found")


def test_flawed_rows_stop_nothing_and_are_named_below_the_table(small: Project) -> None:
    small.edit("release/rows.csv", "control 0 holds", "")
    small.edit("release/rows.csv", "coref,", "corf,")
    small.made("results/tables/velociti/table2.md", "results/tables/velociti/table11.md")
    row = small.cells("velociti/table2")["Oracle", "Ctrl"]
    assert (row["requested"], row["missing"], float(row["value"])) == ("3", "1", 100.0)
    assert small.cells("velociti/table2")["Oracle", "Avg"]["requested"] == "27", "one of the 28 counts in no test"
    line = (
        "Flawed entries of the release: 2 (row 1: 'pos' is empty, so no request is sent and the item counts as missing; "
        "row 13: unknown test 'corf'; it counts in no test. Did you mean 'coref'?)."
    )
    for table in ("table2", "table11"):
        assert line in small.text(f"results/tables/velociti/{table}.md")
    log = small.text("results/small/logs/annotations/velociti.log")
    assert "rows.csv: row 1: 'pos' is empty" in log and "rows.csv: row 13: unknown test 'corf'" in log
