"""Test the rules of temporal profiles and of limited suites: requests, reuse of answers, and notes."""

from reprise.core.files import read_provenance
from reprise.core.store import read_lines
from reprise.media.ablations import DESCRIPTIONS, NONE, PROBE_ABLATIONS
from reprise.temporal.conditions import BEST_FRAMES

from tests.workflow.conftest import TABLES, Project, make_video, small_rows

OVERVIEW = "results/tables/overview"
OVERVIEW_SETTINGS = (
    "overview: {protocol: entail, sampling: fps1, columns: [{title: Strict, metrics: [strict], group: average}]}\n"
)
ABLATED_SAMPLINGS = (
    "none",
    *(f"fps1.{ablation}" for ablation in DESCRIPTIONS if ablation not in (NONE, *PROBE_ABLATIONS)),
)


def with_overview(project: Project) -> None:
    project.write("config/tables/small.yaml", TABLES + OVERVIEW_SETTINGS)
    project.edit("config/suites/small.yaml", "shards: 2", "overview: [oracle, random]\nshards: 2")


def cached_entries(project: Project) -> list[str]:
    """Return the key and the request digest of each entry of the response cache."""
    caches = sorted((project.root / "resources/store/response_cache").rglob("*.jsonl"))
    return [f"{path.stem} {line[0]}" for path in caches for line in read_lines(path)]


def check_that_new_entries_were_added_once(project: Project, entries_before: list[str]) -> None:
    entries = cached_entries(project)
    assert set(entries_before) < set(entries), "entries are added, and none is lost"
    assert len(set(entries)) == len(entries), "no request is sent twice"


def test_profiles_request_each_condition_once_and_reuse_answers_of_tables(small: Project) -> None:
    with_overview(small)
    entries_before = cached_entries(small)
    small.edit("config/suites/small.yaml", "shards: 2", "temporal: [all]\nshards: 2")
    jobs = small.plan_rules()
    assert (jobs.count("temporal_profile"), jobs.count("temporal_profiles")) == (2, 1)
    small.edit("config/suites/small.yaml", "temporal: [all]", "temporal: [oracle]")
    jobs = small.run_rules("results/temporal/all.html")
    assert (jobs.count("infer"), jobs.count("temporal_profile"), jobs.count("temporal_profiles")) == (
        len(ABLATED_SAMPLINGS),
        1,
        1,
    )
    assert jobs.count("frames") == len(ABLATED_SAMPLINGS)
    check_that_new_entries_were_added_once(small, entries_before)
    for kind in ("html", "md", "tex", "csv", "png", "svg", "pdf"):
        for name in ("oracle", "all"):
            assert (small.root / f"results/temporal/{name}.{kind}").stat().st_size > 0
    provenance = read_provenance(small.root / "results/temporal/oracle.csv")
    assert provenance is not None
    profile_settings = provenance.settings["temporal/oracle"]
    (benchmark_settings,) = profile_settings["benchmarks"]
    assert list(benchmark_settings["conditions"]) and not benchmark_settings["missing"]
    planned, shuffled, mismatched = (
        small.parquet(f"small/frames/velociti/{sampling}") for sampling in ("fps1", "fps1.shuffled", "fps1.mismatched")
    )
    pairs = zip(planned["indices"].to_list(), shuffled["indices"].to_list(), strict=True)
    assert all(
        indices != shuffled_indices and sorted(indices) == sorted(shuffled_indices)
        for indices, shuffled_indices in pairs
    )
    assert all(
        clip[:11] != shown_clip[:11] for clip, shown_clip in mismatched.select("clip_id", "shown_clip").iter_rows()
    )
    assert small.run_rules("results/temporal/all.html", "results/temporal/oracle.pdf") == []
    output = small.call_reprise("item", "velociti/entail/fps1.shuffled/oracle", "control/v_aaaaaaaaaaa_seg_0_10/Ev1/1")
    assert "note: in shuffled order, drawn per clip" in output


def test_a_probe_shows_every_planned_frame_alone(small: Project) -> None:
    with_overview(small)
    suite = "config/suites/small.yaml"
    small.edit(
        suite, "overview: [oracle, random]", "overview: [oracle]\ntemporal: [all]\nsingle_frame_probe: [velociti]"
    )
    assert "'fps1' has none" in small.run_failing("--dry-run", "results/temporal/oracle.md")
    small.edit(suite, "overview: [oracle]", "overview: [{model: oracle, samplings: {velociti: linspace2}}]")
    small.run_rules("results/temporal/oracle.md")
    frames = small.parquet("small/frames/velociti/linspace2")
    for position in (1, 2):
        shown = small.parquet(f"small/frames/velociti/linspace2.frame{position}")
        assert shown["indices"].to_list() == [[indices[position - 1]] for indices in frames["indices"].to_list()]
        repeated = small.parquet(f"small/frames/velociti/linspace2.mismatched_frame_repeated{position}")
        assert all(len(set(indices)) == 1 and len(indices) == 2 for indices in repeated["indices"].to_list())
        assert all(row["clip_id"] != row["shown_clip"] for row in repeated.iter_rows(named=True))
    rows = small.rows("results/temporal/oracle.csv")
    scores = {
        row["name"]: float(row["value"]) for row in rows if row["kind"] == "score" and row["metric"] == "question"
    }
    assert {scores[name] for name in BEST_FRAMES} == {100.0}, "the oracle needs no frames"
    positions = {row["name"]: float(row["value"]) for row in rows if row["kind"] == "single_frame"}
    assert positions["score.1"] == positions["score.2"] == 100.0
    assert positions["chosen_share.1"] + positions["chosen_share.2"] == 100.0


def test_a_limited_suite_is_labelled_and_the_full_suite_requests_only_the_remaining_answers(small: Project) -> None:
    with_overview(small)
    row = "control,v_ccccccccccc_seg_0_10,Ev1,this holds,this fails\n"
    small.write("release/rows.csv", small.text("release/rows.csv") + row)
    make_video(small.root / "videos/ccccccccccc.mp4", 11)
    sample_note = "Sample: at most 2 clusters"
    assert sample_note in small.reprise_output("eval", "random", "--benchmarks", "velociti", "--limit", "2", "--yes")
    assert all(sample_note in small.text(f"{OVERVIEW}.{kind}") for kind in ("md", "tex", "html"))
    rows, entries_before = small.rows(f"{OVERVIEW}.csv"), cached_entries(small)
    assert {row["suite"] for row in rows} == {"small-limit2"}
    request_counts = [
        int(row["requested"]) for row in rows if (row["metric"], row["convention"]) == ("strict", "fixed")
    ]
    assert all(0 < count < len(small_rows()) + 1 for count in request_counts), "fewer than all samples"
    small.run_rules(f"{OVERVIEW}.md")
    assert "Sample: at most" not in small.text(f"{OVERVIEW}.md")
    check_that_new_entries_were_added_once(small, entries_before)
    assert {row["suite"] for row in small.rows(f"{OVERVIEW}.csv")} == {"small"}
