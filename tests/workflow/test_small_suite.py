"""Test the whole workflow on a small suite of real clips: which jobs run, and what the tables show."""

import base64
import html
import re
import shutil
from pathlib import Path

import polars as pl
from reprise.tables.render.html import extract_content

from tests.workflow.conftest import Project

BROWSER_LINK = re.compile(r'<a href="\.\./items\.html#[^"]+">(.*?)</a>')


def test_baselines_have_their_exact_scores_and_cells_name_their_run_and_key(small: Project) -> None:
    table, choice = small.cells("velociti/table2"), small.cells("velociti/table5")
    assert [float(table[row, "Avg"]["value"]) for row in ("Oracle", "Always Yes", "Random")] == [100, 0, 25]
    assert [float(choice["Always A", column]["value"]) for column in ("A", "B", "Both")] == [100, 0, 0]
    assert float(small.cells("velociti/table11")["Ctrl", "Samples"]["value"]) == 4
    row = table["Oracle", "Ctrl"]
    assert (row["requested"], row["scored"], row["failed"], row["missing"]) == ("4", "4", "0", "0")
    answers = small.parquet(f"small/responses/{row['run']}")
    assert set(answers["key"]) == {row["key"]} and set(answers["frames_shown"]) == {0}, "a baseline receives no frames"


def test_a_target_runs_only_what_it_needs(fresh: Project) -> None:
    jobs = fresh.plan_rules("results/tables/velociti/table5.tex")
    assert jobs.count("infer") == 2 and jobs.count("table") == 1 and "statistics" not in jobs
    jobs = fresh.plan_rules("results/figures/velociti/fig3.pdf")
    assert jobs.count("infer") == 2 and jobs.count("figure") == 1 and "statistics" not in jobs and "table" not in jobs
    assert fresh.plan_rules("results/tables/velociti/table11.md") == ["annotations", "release", "statistics", "table"]


def test_figures_and_report_have_the_numbers_of_tables(small: Project) -> None:
    assert set(small.run_rules("report", "figures")) == {"figure", "figures", "report", "report_site"}
    folder = small.root / "results/figures/velociti"
    assert {path.suffix for path in folder.glob("fig3.*")} == {".pdf", ".svg", ".png", ".csv"}
    rows = [row for row in small.rows("results/figures/velociti/own_strict.csv") if row["convention"] != "authors"]
    figure = {(row["row"], row["column"]): row["value"] for row in rows}
    assert figure == {cell: row["value"] for cell, row in small.cells("velociti/table2").items()}
    points = small.rows("results/figures/velociti/fig3.csv")
    assert [row["region"] for row in points if (row["row"], row["group"]) == ("Oracle", "control")] == ["strict"] * 4

    folder = small.root / "results/report"
    page = (folder / "tables/velociti.html").read_text(encoding="utf-8")
    for table in ("table2", "table5", "table11"):
        table_html = extract_content(small.text(f"results/tables/velociti/{table}.html"))
        assert table_html.strip() in BROWSER_LINK.sub(r"\1", page), "the same table except for its links"
    links = re.findall(r'<a href="\.\./items\.html#([^"]+)">100\.0</a>', page)
    run = "b=velociti&run=velociti%2Fentail%2Ffps1%2Foracle"
    assert html.unescape(links[0]) == f"{run}&metric=strict&group=control&provenance=strict%2Fcontrol"
    chunk = (folder / "data/velociti/items/0.js").read_text(encoding="utf-8")
    assert chunk.startswith('reprise.put("velociti/items/0", [{"texts":') and '"0":[{"role":"pos"' in chunk
    assert (folder / "figures/velociti/fig3.svg").is_file()
    # Users send the report to others, so that it must not name folders of this machine.
    private_names = [str(small.root).encode(), str(Path.home()).encode(), str(Path(__file__).parents[2]).encode()]
    files = [path for path in (small.root / "results/report").rglob("*") if path.is_file()]
    assert [path.name for path in files if any(name in path.read_bytes() for name in private_names)] == []
    # Snakemake's own report shows the tables and figures too, with captions escaped and without a network.
    small.edit("config/tables/small.yaml", "caption: Strict.", "caption: Strict `*entailment*` | {{ x }} <b>_.")
    figure_file = "results/figures/velociti/own_strict.png"
    small.run_rules("all", figure_file)
    unreachable_proxies = dict.fromkeys(
        ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9"
    )
    process = small.snakemake("all", figure_file, "--report", "report.html", **unreachable_proxies)
    assert process.returncode == 0, process.stderr
    page = small.text("report.html")
    for path in (figure_file, *(f"results/tables/velociti/{table}.html" for table in ("table2", "table5", "table11"))):
        assert base64.b64encode((small.root / path).read_bytes()).decode() in page, path
    assert "Strict `*entailment*` | {{ x }} &lt;b&gt;_." in page
    assert all(words in page for words in ("VELOCITI", "Table 2", "StrictVLE", "Our analysis"))
    assert not re.findall(r"""(?:src|href)=["']https?://[^"']+\.(?:js|css)["']""", page), (
        "the page loads no external file"
    )


def test_a_changed_setting_reruns_only_its_run_and_reverting_it_sends_no_request(small: Project) -> None:
    digests_before = small.digests("responses")
    small.edit("config/models/random.yaml", "adapter: random", "adapter: random\nsettings: {seed: 1}")
    assert small.run_rules() == ["all", "collected_table", "infer", "metrics", "table", "verdicts"]
    digests_after = small.digests("responses")
    changed_files = {name for name in digests_before if digests_before[name] != digests_after[name]}
    assert {name.split("/")[-1].split(".")[0] for name in changed_files} == {"random"}
    small.edit("config/models/random.yaml", "adapter: random\nsettings: {seed: 1}", "adapter: random")
    small.run_rules()
    final_digests = small.digests("responses")
    assert all(final_digests[name][0] == digests_before[name][0] for name in digests_before if "timings" not in name)
    timings = small.parquet("small/responses/velociti/mc/fps1/random.timings")
    assert (timings["resumed"] == timings["requests"]).all()


def test_changed_code_reruns_nothing_and_a_new_version_reruns_its_stage(small: Project) -> None:
    """Comments, renamed variables and moved functions cause no rerun."""
    small.edit("workflow/reprise/stages/metrics.py", "def main(\n", "# a remark\ndef main(\n")
    small.edit("workflow/reprise/stages/metrics.py", "{metric_table.height} numbers", "{metric_table.height} values")
    files = "workflow/reprise/core/files.py"
    function_text = "def text_digest(text: str) -> str:\n    return hashlib.sha256(text.encode()).hexdigest()\n\n\n"
    small.edit(files, function_text, "")
    renamed_function = function_text.replace("text: str", "characters: str").replace("text.encode", "characters.encode")
    small.write(files, f"{small.text(files)}\n\n{renamed_function.rstrip()}\n")
    small.edit("workflow/reprise/media/sampling.py", "import", "# what follows is sorted\nimport")
    assert small.run_rules() == []
    small.edit("workflow/reprise/plan/versions.py", '"metrics": 1', '"metrics": 2')
    assert set(small.plan_rules()) == {"all", "collected_table", "metrics", "table"}


def test_switching_suites_never_mixes_their_numbers(small: Project) -> None:
    """Switch to a suite with the same tables and other models, and back."""
    other_suite = small.text("config/suites/small.yaml").replace("title: Small", "title: Other")
    small.write("config/suites/other.yaml", other_suite.replace("run: [local]", "run: [oracle]"))
    table = "results/tables/velociti/table2.md"
    first_text = small.text(table)
    small.run_rules(table, "--config", "suite=other")
    assert "Suite other" in small.text(table) and "Suite other" not in first_text
    assert ("Always Yes", "Avg") not in small.cells("velociti/table2"), "the other suite does not run this model"
    assert "infer" not in (jobs := small.run_rules(table)) and "table" in jobs
    assert small.text(table) == first_text


def test_another_shard_count_does_not_repeat_unchanged_clips(small: Project) -> None:
    clips = {path: path.stat().st_mtime_ns for path in (small.root / "resources/store/clips").rglob("*.mp4")}
    small.edit("config/suites/small.yaml", "shards: 2", "shards: 3")
    small.run_rules("results/tables/velociti/table5.md")
    assert clips and all(path.stat().st_mtime_ns == time_ns for path, time_ns in clips.items())
    shutil.rmtree(small.root / ".snakemake")  # Without its records, Snakemake cannot see which results are out of date.
    output = small.run_failing("results/tables/velociti/table5.md")
    assert "results/small/sources/missing.md (settings of missing changed). Delete them" in output, (
        "the settings include the shard count"
    )
    (small.root / "results/small/sources/missing.md").unlink()
    assert small.run_rules("results/tables/velociti/table5.md") == []


def test_missing_videos_are_counted_up_to_a_limit_and_a_broken_one_has_its_status(fresh: Project) -> None:
    table, video = "results/tables/velociti/table2.md", fresh.root / "videos/bbbbbbbbbbb.mp4"
    content = video.read_bytes()
    video.unlink()
    fresh.run_rules(table)
    row = fresh.cells("velociti/table2")["Oracle", "Ctrl"]
    assert (row["requested"], row["missing"], float(row["value"])) == ("3", "1", 100.0)
    assert "without a clip" in fresh.text(table)
    fresh.edit("config/suites/small.yaml", "missing_share_max: 0.5", "missing_share_max: 0.1")
    assert "25.0 % of the items of velociti/entail/fps1/" in fresh.run_failing(table)
    assert not (fresh.root / table).exists()
    video.write_bytes(content[: len(content) // 2])
    fresh.run_rules("results/small/sources/missing.md")
    manifests = [pl.read_parquet(path) for path in (fresh.root / "results/small/sources/velociti").glob("*.parquet")]
    statuses = dict(pl.concat(manifests).select("source_id", "status").iter_rows())
    assert statuses["aaaaaaaaaaa"] == "ok" and statuses["bbbbbbbbbbb"] not in ("ok", "not_found")


def test_flawed_rows_are_named_in_a_footnote(small: Project) -> None:
    small.edit("release/rows.csv", "control 0 holds", "")
    small.edit("release/rows.csv", "coref,", "corf,")
    small.run_rules("results/tables/velociti/table2.md", "results/tables/velociti/table11.md")
    row = small.cells("velociti/table2")["Oracle", "Ctrl"]
    assert (row["requested"], row["missing"], float(row["value"])) == ("3", "1", 100.0)
    assert small.cells("velociti/table2")["Oracle", "Avg"]["requested"] == "27", (
        "one of the 28 items belongs to no test"
    )
    line = (
        "Flawed entries of the release: 2 (row 1: 'pos' is empty, so no request is sent and the item counts as missing; "
        "row 13: unknown test 'corf'; it counts in no test. Did you mean 'coref'?)."
    )
    for table in ("table2", "table11"):
        assert line in small.text(f"results/tables/velociti/{table}.md")
    log = small.text("results/small/logs/annotations/velociti.log")
    assert "rows.csv: row 1: 'pos' is empty" in log and "rows.csv: row 13: unknown test 'corf'" in log
