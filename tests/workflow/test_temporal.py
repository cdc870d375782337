"""Cards of time and parts of a suite, by their rules: what is asked, what is not asked again, what is said."""

from reprise.core.files import read_provenance
from reprise.core.store import read_lines

from tests.workflow.conftest import TABLES, Project, make_video

OVERVIEW = "results/tables/overview"
SHOWN = "overview: {protocol: entail, sampling: fps1, columns: [{title: Strict, metrics: [strict], group: average}]}\n"
SAMPLINGS = ("none", "fps1.middle", "fps1.first", "fps1.shuffled", "fps1.reversed", "fps1.mismatched")


def with_overview(project: Project) -> None:
    project.write("config/tables/small.yaml", TABLES + SHOWN)
    project.edit("config/suites/small.yaml", "shards: 2", "overview: [oracle, random]\nshards: 2")


def entries(project: Project) -> list[str]:
    """The questions whose answers were ever written down, of each key."""
    caches = sorted((project.root / "resources/store/response_cache").rglob("*.jsonl"))
    return [f"{path.stem} {line[0]}" for path in caches for line in read_lines(path)]


def test_profiles_request_each_condition_once_and_nothing_that_a_table_requested(small: Project) -> None:
    with_overview(small)
    asked = entries(small)
    small.edit("config/suites/small.yaml", "shards: 2", "temporal: [all]\nshards: 2")
    jobs = small.planned()
    assert (jobs.count("temporal_profile"), jobs.count("temporal_profiles")) == (2, 1)
    small.edit("config/suites/small.yaml", "temporal: [all]", "temporal: [oracle]")
    jobs = small.made("results/temporal/all.html")
    assert (jobs.count("infer"), jobs.count("temporal_profile"), jobs.count("temporal_profiles")) == (
        len(SAMPLINGS),
        1,
        1,
    )
    assert jobs.count("frames") == len(SAMPLINGS)
    assert set(asked) < set(entries(small)) and len(set(entries(small))) == len(entries(small))
    for kind in ("html", "md", "tex", "csv", "png", "svg", "pdf"):
        for name in ("oracle", "all"):
            assert (small.root / f"results/temporal/{name}.{kind}").stat().st_size > 0
    made = read_provenance(small.root / "results/temporal/oracle.csv")
    assert made is not None
    card = made.settings["temporal/oracle"]
    (of_velociti,) = card["benchmarks"]
    assert list(of_velociti["conditions"]) and not of_velociti["missing"]
    own, shuffled, another = (
        small.parquet(f"small/frames/velociti/{sampling}") for sampling in ("fps1", "fps1.shuffled", "fps1.mismatched")
    )
    pairs = zip(own["indices"].to_list(), shuffled["indices"].to_list(), strict=True)
    assert all(one != other and sorted(one) == sorted(other) for one, other in pairs)
    assert all(clip[:11] != shown[:11] for clip, shown in another.select("clip_id", "shown_clip").iter_rows())
    assert small.made("results/temporal/all.html", "results/temporal/oracle.pdf") == []
    said = small.called("item", "velociti/entail/fps1.shuffled/oracle", "control/v_aaaaaaaaaaa_seg_0_10/Ev1/1")
    assert "note: in shuffled order, drawn per clip" in said


def test_a_part_says_so_and_the_whole_asks_only_the_rest(small: Project) -> None:
    with_overview(small)
    row = "control,v_ccccccccccc_seg_0_10,Ev1,this holds,this fails\n"
    small.write("release/rows.csv", small.text("release/rows.csv") + row)
    make_video(small.root / "videos/ccccccccccc.mp4", 11)
    part = "Sample: at most 2 clusters"
    assert part in small.said("eval", "random", "--benchmarks", "velociti", "--limit", "2", "--yes")
    assert all(part in small.text(f"{OVERVIEW}.{kind}") for kind in ("md", "tex", "html"))
    rows, asked = small.rows(f"{OVERVIEW}.csv"), entries(small)
    assert {row["suite"] for row in rows} == {"small-limit2"}
    of_part = [int(row["requested"]) for row in rows if (row["metric"], row["convention"]) == ("strict", "fixed")]
    assert all(0 < count < 33 for count in of_part)
    small.made(f"{OVERVIEW}.md")
    assert "A part only" not in small.text(f"{OVERVIEW}.md")
    assert set(asked) < set(entries(small)) and len(set(entries(small))) == len(entries(small)), "only the rest"
    assert {row["suite"] for row in small.rows(f"{OVERVIEW}.csv")} == {"small"}
