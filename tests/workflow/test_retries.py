"""Test that the next run retries temporary failures, and only these: downloads of videos, and answers."""

import re

import polars as pl

from tests.unit.fetch.server import Behaviour, serve_paths
from tests.workflow.conftest import Project, printed_text

MISSING = "results/small/sources/missing.md"


FIRST, SECOND = "/aaaaaaaaaaa.mp4", "/bbbbbbbbbbb.mp4"


def statuses(project: Project) -> dict[str, str]:
    manifests = (project.root / "results/small/sources/velociti").glob("*.parquet")
    return dict(pl.concat([pl.read_parquet(path) for path in manifests]).select("source_id", "status").iter_rows())


def test_temporary_failures_are_retried_and_permanent_ones_on_request(fresh: Project) -> None:
    videos = {name: Behaviour((fresh.root / f"videos{name}").read_bytes()) for name in (FIRST, SECOND)}
    videos[FIRST].status, videos[SECOND].status = 404, 503
    with serve_paths(videos) as (url, log):
        route = f'{{kind: http, url: "{url}/{{source_id}}.mp4", retries: 0, attempts: 2}}'
        fresh.edit("config/suites/small.yaml", '{kind: folder, path: videos, pattern: "{source_id}.mp4"}', route)
        fresh.run_rules(MISSING)
        assert statuses(fresh) == {"aaaaaaaaaaa": "not_found", "bbbbbbbbbbb": "server_error"}
        assert "clips of velociti: 3 of 3 missing" in fresh.call_reprise("missing")
        log.gets.clear()
        videos[SECOND].status = 200
        assert fresh.run_rules(MISSING).count("sources") == 1
        assert statuses(fresh) == {"aaaaaaaaaaa": "not_found", "bbbbbbbbbbb": "ok"} and log.gets == {SECOND: 1}
        assert fresh.run_rules(MISSING) == []
        log.gets.clear()
        videos[FIRST].status = 503
        fresh.call_reprise("retry", "not_found")
        for _ in range(2):
            fresh.run_rules(MISSING)
        assert fresh.run_rules(MISSING) == [] and log.gets == {FIRST: 2}, "at most two attempts"
    text = fresh.text(MISSING)
    assert "server_error" in text and "Clips: 2 of 3 missing" in text


RUN = "velociti/entail/fps1/oracle"
RESPONSES = f"results/small/responses/{RUN}.parquet"
TABLE = "results/tables/velociti/table2.md"
FAILURE = """\
            if Path("down").is_file() and any(words in request.prompt for words in Path("down").read_text().splitlines()):
                Path("asked").open("a").write(request.request_id + "\\n")
                raise {}("no answer from http://user:secret@host")
            yield _answer_with(request, request.expected)
"""


def break_oracle(project: Project, error: str, *prompts: str) -> None:
    """Make the oracle raise an error for prompts with these words while the file `down` exists."""
    adapter = "workflow/reprise/models/local/baselines/simple.py"
    project.edit(adapter, "            yield _answer_with(request, request.expected)\n", FAILURE.format(error))
    project.edit(adapter, "import json\n", "import json\nfrom pathlib import Path\n")
    oracle = 'baselines.simple:OracleBaseline", request_types=ALL_REQUEST_TYPES'
    project.edit("workflow/reprise/models/adapters.py", oracle, f"{oracle}, version=2")
    project.write("down", "".join(f"{words}\n" for words in prompts))


def failure_count(project: Project) -> int:
    """Return how often the oracle has failed. If a request of a clip fails, each of its requests is sent again alone."""
    path = project.root / "asked"
    return len(path.read_text().splitlines()) if path.is_file() else 0


def error_rows(project: Project) -> list[tuple[str, str]]:
    rows = pl.read_parquet(project.root / RESPONSES).filter(pl.col("error") != "")
    return list(rows.select("error", "message").iter_rows())


def test_failed_requests_are_sent_again_up_to_a_limit_and_on_request(small: Project) -> None:
    """The next run retries temporary failures; `reprise retry` retries the others."""
    small.edit("config/suites/small.yaml", "shards: 2", "failed_share_max: 0.1\nshards: 2")
    break_oracle(small, '(KeyError if "control 1" in request.prompt else TimeoutError)', "control 0", "control 1")
    jobs = small.run_rules(TABLE)
    assert "infer" in jobs and failure_count(small) == 2 * 3, "two requests of each of two clips"
    assert sorted(error_rows(small))[-2:] == [("timeout", "TimeoutError: no answer from http://***@host")] * 2
    assert "samples: 2 failed" in small.text(TABLE)
    text = small.reprise_output("why", RUN)
    assert text.startswith(f"{RUN}: stale") and "Failed answers: 4 of 64\n" in text
    assert "  2 timeout (no answer before the timeout); the next run retries 2\n" in text
    assert re.search(rf"64 +4 .*stale +{RUN}  \(.*2 timeout", small.reprise_output("runs"), re.MULTILINE)
    for tries in (2, 3):
        assert small.run_rules(TABLE).count("infer") == 1, "only this run"
        assert failure_count(small) == 3 + 3 * tries
    output = printed_text(small.snakemake(TABLE))
    assert "Nothing to be done" in output and "Failed answers: 4 (" in output
    assert "0 answers" in small.reprise_output("retry", "not_finite")
    (small.root / "down").unlink()
    assert small.run_rules(TABLE) == []
    text = small.reprise_output("why", "entail/oracle")
    assert text.startswith(f"{RUN}: done: nothing to do\nFailed answers: 4 of 64\n") and "retries 2" not in text
    assert "4 answers" in small.reprise_output("retry", "velociti/*/oracle")
    assert small.run_rules(TABLE).count("infer") == 1 and error_rows(small) == []


def test_a_failing_run_aborts_and_too_many_failed_answers_block_the_table(
    small: Project,
) -> None:
    (small.root / TABLE).unlink()
    break_oracle(small, '(TimeoutError if "control" in Path("down").read_text() else ValueError)', "")
    assert f"{RUN}: the first " in small.run_failing(TABLE)
    text = small.reprise_output("why", RUN)
    assert text.startswith(f"{RUN}: failed\nresults/small/logs/infer/{RUN}.log ends with:\n  Error: {RUN}: the first ")
    assert f"  {RUN}\n" in small.reprise_output("runs")
    assert not (small.root / "resources/store/failures").exists(), "an aborted run leaves no file of failures"
    small.write("down", "control\n")
    output = small.run_failing(TABLE)
    assert not (small.root / TABLE).exists()
    assert f"{RUN}: 8 of 64 answers (8 timeout, such as: TimeoutError: no answer" in output
    assert "the 5.0 % that failed_share_max of suite 'small' allows" in output and "Failed answers: 8" in output
    (small.root / "down").unlink()
    small.run_rules(TABLE)
    assert (small.root / TABLE).exists() and error_rows(small) == []
