"""Test a suite with judges: two rate answers, one extracts a letter."""

import re
from collections import Counter
from pathlib import Path

import pytest
from reprise.commands.plan import show_plan

from tests.unit.models.chat_server import ChatServer, ReceivedRequest, ServerReply, completion
from tests.unit.rows import PAIR_COLUMNS, QUESTION_COLUMNS
from tests.workflow.conftest import Project, build_once, copy_of, make_video

SUITE = """\
title: Judged
show_published: false
run: [local]
judges: [wordmatch, wordmatch-recall]
shards: 2
missing_share_max: 0.0
failed_share_max: 0.3
benchmarks:
  mmbench_video:
    tables: config/tables/judged_mmbench.yaml
    release: {kind: folder, path: release/mmbench}
    clips: release
    route: {kind: folder, path: videos}
  vinoground:
    tables: config/tables/judged_vinoground.yaml
    release: {kind: folder, path: release/vinoground}
    clips: ids
    route: {kind: folder, path: videos}
    judges: [last-letter]
"""
MMBENCH = """\
benchmark: mmbench_video
tables:
  table3:
    title: Ratings
    caption: Ratings.
    metrics: [mean]
    columns: [{title: ALL, group: overall, decimals: 2}, {title: VALID, metrics: [valid], group: overall, decimals: 2}]
    sections:
      - protocol: unpacked
        sampling: none
        rows:
          - {label: Oracle, model: oracle}
          - {label: Oracle by recall, model: oracle, judges: [wordmatch-recall]}
          - {label: Cannot tell, model: cannot-tell}
"""
VINOGROUND = """\
benchmark: vinoground
tables:
  table3:
    title: Scores
    caption: Scores.
    columns: [{title: text, metrics: [text], group: all}, {title: group, metrics: [group], group: all}]
    sections:
      - protocol: cot
        sampling: linspace4
        rows:
          - {label: By rule, model: oracle}
          - {label: By judge, model: oracle, protocol: cot.judged}
          - {label: Always A, model: always-first, protocol: cot.judged}
"""
RATINGS = "results/tables/mmbench_video/table3.md"
QUESTIONS = ("What is red?", "What is blue?", "What spins?", "What grows?")


@pytest.fixture(scope="session")
def finished_judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_once(tmp_path_factory, "judged", lambda project: judged_suite(project).run_rules())


@pytest.fixture
def judged(finished_judged: Path, tmp_path: Path) -> Project:
    return copy_of(finished_judged, tmp_path)


def judged_suite(project: Project) -> Project:
    project.write("config/suites/judged.yaml", SUITE)
    project.write("config/tables/judged_mmbench.yaml", MMBENCH)
    project.write("config/tables/judged_vinoground.yaml", VINOGROUND)
    project.edit("config/config.yaml", "suite: demo", "suite: judged")
    rows = [
        [str(i), "ab"[i % 2] * 11, "News", text, f"the circle {i}", "['OCR']", ""] for i, text in enumerate(QUESTIONS)
    ]
    project.write_rows("release/mmbench/MMBench-Video.tsv", [QUESTION_COLUMNS, *rows])
    pairs = [
        [i, "action", "", "aaaaaaaaaaa", "0", "3", f"{i} eats", "bbbbbbbbbbb", "1", "4", f"{i} sleeps"] for i in "01"
    ]
    project.write_rows("release/vinoground/vinoground.csv", [PAIR_COLUMNS, *pairs])
    make_video(project.root / "videos/aaaaaaaaaaa.mp4", 4)
    make_video(project.root / "videos/bbbbbbbbbbb.mp4", 5, "testsrc")
    return project


def test_judges_rate_answers_or_extract_letters(judged: Project) -> None:
    ratings = judged.cells("mmbench_video/table3")
    assert [float(ratings[row, "ALL"]["value"]) for row in ("Oracle", "Oracle by recall")] == [3, 3]
    assert float(ratings["Cannot tell", "ALL"]["value"]) < 1
    assert {row["judge"] for row in ratings.values()} == {"wordmatch", "wordmatch-recall"}
    scores = judged.cells("vinoground/table3")
    assert [float(scores[row, "group"]["value"]) for row in ("By rule", "By judge", "Always A")] == [100, 100, 0]
    assert (scores["By rule", "group"]["judge"], scores["By judge", "group"]["judge"]) == ("", "last-letter")
    # The second run takes all its answers from the response cache.
    path = "judged/responses/vinoground/{}/linspace4/oracle.timings"
    timings = [judged.parquet(path.format(protocol)) for protocol in ("cot", "cot.judged")]
    assert sorted((frame["requests"].sum(), frame["resumed"].sum()) for frame in timings) == [(8, 0), (8, 8)]
    footnote = "Answers judged by last option letter (deterministic, no language model)."
    assert footnote in judged.text("results/tables/vinoground/table3.md")


def test_a_changed_judge_prompt_reruns_only_judging(
    judged: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.edit("resources/prompts/mmbench_video.yaml", "As an AI assistant, your task", "Your task")
    jobs = Counter(judged.plan_rules())
    assert {rule: count for rule, count in jobs.items() if rule not in ("all", "collected_table")} == {
        "judge_requests": 2, "judge": 3, "judgements": 3, "judged_metrics": 3, "table": 1,
    }  # fmt: skip
    monkeypatch.chdir(judged.root)
    show_plan([], True, None)
    text = " ".join(capsys.readouterr().out.split())
    assert "'judged': 3 inference jobs pending; done: 3." in text
    assert "wordmatch: prompt changed (prompt.system: As an AI" in text
    assert "recomputed before this job: judge_requests." in text
    assert text.count(" *8 0 0 0 ") == 3 and text.count(" of mmbench_video/unpacked/none/oracle ") == 2
    for path in Path("results/judged/judge_requests").rglob("oracle.parquet"):
        path.unlink()
    show_plan(["mmbench_video"], True, None)
    text = " ".join(capsys.readouterr().out.split())
    assert "requests at least 8 (unknown of 2 of 3 runs)" in text and "known once there are answers to judge" in text


SERVED_MODEL = "label: Served\nadapter: openai\nsettings: {{url: {url}, model: toy-1, server: ours}}\n"


def reply_as_judge(request: ReceivedRequest) -> ServerReply:
    """Reply with a rating, a refusal to rate, or the last letter of a chain of thought."""
    if thought := re.search(r"=====\n?(.*?)\n?=====\nProvide", request.prompt, re.DOTALL):
        return ServerReply(completion(request, re.findall(r"\b[AB]\b", thought[1])[-1]))
    if "spins" in request.prompt:
        return ServerReply(completion(request, "I would rather not."))
    return ServerReply(completion(request, "3" if request.prompt.count("the circle") == 2 else "1"))


def test_a_served_judge_rates_and_extracts_and_is_compared_with_others(judged: Project) -> None:
    with ChatServer(reply_as_judge) as server:
        judged.write("config/models/served.yaml", SERVED_MODEL.format(url=server.url))
        judged.edit("config/suites/judged.yaml", "run: [local]", "run: [local, served]")
        judged.edit("config/suites/judged.yaml", "judges: [wordmatch, wordmatch-recall]", "judges: [served, wordmatch]")
        judged.edit("config/suites/judged.yaml", "judges: [last-letter]", "judges: [last-letter, served]")
        jobs = Counter(judged.run_rules("results/tables/judges.md"))
        assert (jobs["judge"], jobs["agreement"], jobs["infer"]) == (4, 1, 0), (
            "judges that no table shows are queried too"
        )
        questions = [request.body for request in server.received]
        judged.run_rules("results/tables/judges.md", RATINGS)
        assert len(server.received) == len(questions), "no request is sent twice"
    assert len(questions) == 8 + 2, "8 ratings, and 2 letters because equal answers are judged once"
    assert {body["temperature"] for body in questions} == {0} and not any(request.images for request in server.received)
    systems = {body["messages"][0]["content"][:60] for body in questions if body["messages"][0]["role"] == "system"}
    assert systems == {"As an AI assistant, your task is to evaluate a candidate ans"}
    rating = judged.cells("mmbench_video/table3")["Oracle", "ALL"]
    assert (rating["judge"], rating["value"], rating["unparsed"]) == ("served", "2.25", "1")
    rows = judged.rows("results/tables/judges.csv")
    row_by_cell = {(row["row"], row["section"], row["metric"]): row for row in rows}
    assert len({cell[:2] for cell in row_by_cell}) == 2
    ratings = {name: row_by_cell["served, wordmatch", "MMBench-Video, unpacked", name] for name in ("agreement", "second_only", "difference")}  # fmt: skip
    row = ratings["agreement"]
    assert (row["requested"], row["scored"], row["unparsed"], ratings["second_only"]["value"]) == ("8", "6", "2", "2.0")
    assert float(row["value"]) == 50 and float(ratings["difference"]["value"]) == 0.5
    letters = [
        row_by_cell["last-letter, served", "Vinoground, cot.judged", name]["value"] for name in ("agreement", "kappa")
    ]
    assert letters == ["100.0", "1.0"] and "| Served / word overlap" in judged.text("results/tables/judges.md")


def test_a_suite_with_one_judge_has_no_agreement(judged: Project) -> None:
    judged.edit("config/suites/judged.yaml", "judges: [wordmatch, wordmatch-recall]", "judges: [wordmatch]")
    judged.edit("config/tables/judged_mmbench.yaml", ", judges: [wordmatch-recall]", "")
    assert "No two judges rate the same run. List two in" in judged.run_failing("results/tables/judges.md")


VAGUE_REPLY = "Both seem fine to me."


def test_a_model_extracts_answers_that_the_rules_leave_unparsed(judged: Project) -> None:
    """The model gets only unparsed answers, its verdicts name it, and a footnote counts them."""
    protocol = "  cot.read: {<<: *cot, judge: extract, judge_scope: unparsed, responses_from: cot}\n"
    judged.edit("config/benchmarks/vinoground.yaml", "  cot.judged:", f"{protocol}  cot.judged:")
    row = "          - {{label: {}, model: {}, protocol: cot.read}}\n".format
    always_row = "          - {label: Always A"
    rows = row("Sure", "oracle") + row("Unsure", "vague") + always_row
    judged.edit("config/tables/judged_vinoground.yaml", always_row, rows)
    with ChatServer(
        lambda request: ServerReply(completion(request, "A" if "=====" in request.prompt else VAGUE_REPLY))
    ) as server:
        served = SERVED_MODEL.format(url=server.url)
        judged.write("config/models/served.yaml", served)
        judged.write("config/models/vague.yaml", served.replace("label: Served", "label: Vague"))
        judged.edit("config/suites/judged.yaml", "run: [local]", "run: [local, served, vague]")
        judged.edit("config/suites/judged.yaml", "judges: [last-letter]", "judges: [served]")
        judged.run_rules("results/tables/vinoground/table3.md")
        asked = [one.prompt for one in server.received if "=====" in one.prompt]
    assert sum(VAGUE_REPLY in prompt for prompt in asked) == 1, "equal requests are sent once"
    text = judged.text("results/tables/vinoground/table3.md")
    assert "8 of 8 answers that no extraction rule parses were extracted by Served." in text
    assert "Answers judged by Served." in text, "the footnote of cot.judged"
    found = judged.cells("vinoground/table3")
    assert (found["Sure", "group"]["value"], found["Unsure", "text"]["unparsed"]) == ("100.0", "0")
    verdicts = judged.parquet("judged/verdicts/vinoground/cot.read/linspace4/vague/served")
    assert set(verdicts["extracted_by"]) == {"served"}
    assert "extracted by: served" in judged.call_reprise("item", "vinoground/cot.read/linspace4/vague", "0_neg/text")
