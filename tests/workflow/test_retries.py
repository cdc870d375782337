"""What failed for a while: videos over HTTP, answers. The next run tries again, these and only these."""

import re

import polars as pl

from tests.unit.fetch.server import Behaviour, serving
from tests.workflow.conftest import Project, both

MISSING = "results/small/sources/missing.md"


FIRST, SECOND = "/aaaaaaaaaaa.mp4", "/bbbbbbbbbbb.mp4"


def statuses(project: Project) -> dict[str, str]:
    manifests = (project.root / "results/small/sources/velociti").glob("*.parquet")
    return dict(pl.concat([pl.read_parquet(path) for path in manifests]).select("source_id", "status").iter_rows())


def test_what_may_pass_is_tried_again_and_what_may_not_waits_for_a_word(fresh: Project) -> None:
    videos = {name: Behaviour((fresh.root / f"videos{name}").read_bytes()) for name in (FIRST, SECOND)}
    videos[FIRST].status, videos[SECOND].status = 404, 503
    with serving(videos) as (url, log):
        route = f'{{kind: http, url: "{url}/{{source_id}}.mp4", retries: 0, attempts: 2}}'
        fresh.edit("config/suites/small.yaml", '{kind: folder, path: videos, pattern: "{source_id}.mp4"}', route)
        fresh.made(MISSING)
        assert statuses(fresh) == {"aaaaaaaaaaa": "not_found", "bbbbbbbbbbb": "server_error"}
        assert "clips of velociti: 3 of 3 missing" in fresh.called("missing")
        log.asked.clear()
        videos[SECOND].status = 200
        assert fresh.made(MISSING).count("sources") == 1
        assert statuses(fresh) == {"aaaaaaaaaaa": "not_found", "bbbbbbbbbbb": "ok"} and log.asked == {SECOND: 1}
        assert fresh.made(MISSING) == []
        log.asked.clear()
        videos[FIRST].status = 503
        fresh.called("retry", "not_found")
        for _ in range(2):
            fresh.made(MISSING)
        assert fresh.made(MISSING) == [] and log.asked == {FIRST: 2}, "two tries are all"
    text = fresh.text(MISSING)
    assert "server_error" in text and "Clips: 2 of 3 missing" in text


RUN = "velociti/entail/fps1/oracle"
RESPONSES = f"results/small/responses/{RUN}.parquet"
TABLE = "results/tables/velociti/table2.md"
FAILS = """\
            if Path("down").is_file() and any(words in request.prompt for words in Path("down").read_text().splitlines()):
                Path("asked").open("a").write(request.request_id + "\\n")
                raise {}("no answer from http://user:secret@host")
            yield _certain(request, request.expected)
"""


def break_oracle(project: Project, error: str, *prompts: str) -> None:
    """Have the oracle raise an error at prompts with these words, while there is a file `down`."""
    adapter = "workflow/reprise/models/local/baselines/simple.py"
    project.edit(adapter, "            yield _certain(request, request.expected)\n", FAILS.format(error))
    project.edit(adapter, "import json\n", "import json\nfrom pathlib import Path\n")
    oracle = 'baselines.simple:OracleBaseline", request_types=ALL_REQUEST_TYPES'
    project.edit("workflow/reprise/models/adapters.py", oracle, f"{oracle}, version=2")
    project.write("down", "".join(f"{words}\n" for words in prompts))


def asked(project: Project) -> int:
    """How often the oracle has failed so far; where one of a clip's questions fails, each is asked again alone."""
    path = project.root / "asked"
    return len(path.read_text().splitlines()) if path.is_file() else 0


def errors(project: Project) -> list[tuple[str, str]]:
    rows = pl.read_parquet(project.root / RESPONSES).filter(pl.col("error") != "")
    return list(rows.select("error", "message").iter_rows())


def test_failed_answers_are_asked_again_within_bounds_and_on_request(small: Project) -> None:
    """Those that may pass; the others wait for a word."""
    small.edit("config/suites/small.yaml", "shards: 2", "failed_share_max: 0.1\nshards: 2")
    break_oracle(small, '(KeyError if "control 1" in request.prompt else TimeoutError)', "control 0", "control 1")
    jobs = small.made(TABLE)
    assert "infer" in jobs and asked(small) == 2 * 3, "two questions of each of two clips"
    assert sorted(errors(small))[-2:] == [("timeout", "TimeoutError: no answer from http://***@host")] * 2
    assert "samples: 2 failed" in small.text(TABLE)
    text = small.said("why", RUN)
    assert text.startswith(f"{RUN}: stale") and "Failed answers: 4 of 64\n" in text
    assert "  2 timeout (no answer before the timeout); the next run retries 2\n" in text
    assert re.search(rf"^stale +64 +4 +0 +0  {RUN}  \(.*2 timeout", small.said("runs"), re.MULTILINE)
    for tries in (2, 3):
        assert small.made(TABLE).count("infer") == 1, "this run alone"
        assert asked(small) == 3 + 3 * tries
    said = both(small.snakemake(TABLE))
    assert "Nothing to be done" in said and "Failed answers: 4 (" in said
    assert "0 answers" in small.said("retry", "not_finite")
    (small.root / "down").unlink()
    assert small.made(TABLE) == []
    text = small.said("why", "entail/oracle")
    assert text.startswith(f"{RUN}: done: nothing to do\nFailed answers: 4 of 64\n") and "retries 2" not in text
    assert "4 answers" in small.said("retry", "velociti/*/oracle")
    assert small.made(TABLE).count("infer") == 1 and errors(small) == []


def test_a_run_that_only_fails_stops_and_too_many_failed_answers_stop_the_table_until_they_are_answered(
    small: Project,
) -> None:
    (small.root / TABLE).unlink()
    break_oracle(small, '(TimeoutError if "control" in Path("down").read_text() else ValueError)', "")
    assert f"{RUN}: the first " in small.refused(TABLE)
    text = small.said("why", RUN)
    assert text.startswith(f"{RUN}: failed\nresults/small/logs/infer/{RUN}.log ends with:\n  Error: {RUN}: the first ")
    assert f"  {RUN}\n" in small.said("runs")
    assert not (small.root / "resources/store/failures").exists(), "nothing is left behind"
    small.write("down", "control\n")
    said = small.refused(TABLE)
    assert not (small.root / TABLE).exists()
    assert f"{RUN}: 8 of 64 answers (8 timeout, such as: TimeoutError: no answer" in said
    assert "the 5.0 % that failed_share_max of suite 'small' allows" in said and "Failed answers: 8" in said
    (small.root / "down").unlink()
    small.made(TABLE)
    assert (small.root / TABLE).exists() and errors(small) == []
