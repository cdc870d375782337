"""Test what `reprise plan` states before any download: counts, sizes, GPU time, prices and terms, each with its basis."""

import csv
import re
import shlex
import socket
import textwrap

import pytest
from reprise.__main__ import app
from reprise.commands.needs import describe_terms
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.yaml_files import dump_yaml, load_yaml

from tests.unit.config.conftest import ROOT, Project

COUNTS = {  # title -> what the plan says about the run of the overview
    "VELOCITI": (
        "questions 17,584 for entail (arithmetic: 8,792 samples (paper: sum of Table 11) x 2)",
        "clips 864 for entail (paper: section 3.1)",
        "videos unknown (no source states it;",
        "licence CC BY-NC-SA 4.0; a test set only",
        "access unknown; see https://huggingface.co/datasets/katha-ai-iiith/VELOCITI",
    ),
    "Vinoground": (
        "questions 2,000 for paper (arithmetic: 500 samples (paper: Table 2) x 4)",
        "clips 1,500 for paper (arithmetic: ",
        "access gated; log in at https://huggingface.co/datasets/HanSolo9682/Vinoground, accept the conditions",
    ),
    "TemporalBench": (
        "questions 9,867 for short (release: card of the data set)",
        "clips 2,179 for short (paper: Table 1)",
        "access gated; log in at https://huggingface.co/datasets/microsoft/TemporalBench, accept the license terms",
    ),
    "MMBench-Video": (
        "questions 1,998 for unpacked (paper: appendix F)",
        "clips 609 for unpacked (paper: section 3.2)",
        "videos 13.4 GB (release: file list",
        "judge rates each answer in addition",
        "licence CC BY-NC 4.0 by the paper",
        "access open",
    ),
}


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError(f"a connection to {arguments[1:]}")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def run_plan(capsys: pytest.CaptureFixture[str], arguments: str) -> str:
    app(["plan", *shlex.split(arguments)], standalone_mode=False)
    return capsys.readouterr().out


def split_blocks(text: str) -> dict[str, str]:
    """Return the text of each block by its heading, with single spaces."""
    blocks = [block.split("\n", 1) for block in text.split("\n\n")]
    return {heading: " ".join(body[0].split()) for heading, *body in blocks if body}


def test_a_fresh_project_states_the_needs_of_every_benchmark(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    text = run_plan(capsys, "--config suite=paper")
    blocks = split_blocks(text)
    assert "?" not in text and [heading for heading in blocks if heading in COUNTS] == [*COUNTS]
    for title, statements in COUNTS.items():
        assert [words for words in statements if words not in blocks[title]] == [], blocks[title]
        assert re.search(r"GPU time [\d.]+ (min|h) for a 7B model, \w+/\w+ \(arithmetic for an H100\)", blocks[title])
    assert blocks["Weights"].startswith("a 7B model 14.0 GB (arithmetic: 7B parameters, 2 bytes each)")
    assert "989 TFLOP/s" in text and "it is not measured" in text
    assert split_blocks(run_plan(capsys, "--config suite=paper --benchmarks velociti")).keys() & COUNTS.keys() == {
        "VELOCITI"
    }
    toy = split_blocks(run_plan(capsys, "velociti/table2 --config suite=demo"))["VELOCITI"]
    assert "clips unknown for entail, entail.subset (not counted yet)" in toy and "made on this machine" in toy
    assert split_blocks(run_plan(capsys, "vinoground/table3 --config suite=paper")).keys() & COUNTS.keys() == {
        "Vinoground"
    }


def test_pending_runs_have_numbers_before_the_data(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.edit("config/suites/paper.yaml", "run: [none]", "run: [llava-onevision-7b]")
    text = run_plan(capsys, "--config suite=paper --benchmarks velociti")
    assert "?" not in text and " ≤17,584        0   8.6k " in text and " =" in text, text
    assert "memory: weights about 14.0 GB" in text and "= by arithmetic for an H100, not measured" in text
    (statement,) = re.findall(r"GPU time +(.*) for llava-onevision-7b, 4 runs \(arithmetic", text)
    assert f"GPU time: {statement}." in text


def test_models_are_named_by_file_repository_and_folder(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--config suite=paper --benchmarks velociti"
    by_file, by_repository = (
        run_plan(capsys, f"{name} {options}") for name in ("qwen2.5-vl-72b", "Qwen/Qwen2.5-VL-72B-Instruct")
    )
    assert by_file == by_repository and "qwen2.5-vl-72b  144.0 GB (arithmetic: 72B" in by_file
    assert "GPU time   12 min for a/model-3B, entail/fps1" in run_plan(capsys, f"a/model-3B {options}")
    unknown = " ".join(run_plan(capsys, f"a/model {options}").split())
    assert "GPU time unknown for a/model, entail/fps1 (the name a/model states no number of parameters)" in unknown
    folder = " ".join(run_plan(capsys, f"{ROOT}/resources/demo/checkpoints/llava-ov-late {options}").split())
    assert re.search(r"Weights toy-llava-ov [\d.]+ MB \(counted here\)", folder), "the model file with this folder"
    on_cpu = " ".join(run_plan(capsys, f"toy-llava-ov {options}").split())
    assert "time unknown for toy-llava-ov, entail/fps1 (its file names no GPU" in on_cpu
    imported = " ".join(run_plan(capsys, f"gpt-4o {options}").split())
    assert "questions 2,086 for entail.frames.subset (arithmetic: 1,043 samples (release" in imported
    assert "time unknown for gpt-4o, entail.frames.subset/fps1 (its answers are imported)" in imported
    contrastive = " ".join(run_plan(capsys, f"siglip {options}").split())
    assert "(its adapter 'contrastive' has no score requests)" in contrastive
    with pytest.raises(UserError, match="no table or run 'llava-onevison-7b'.* Did you mean 'llava-onevision-7b'"):
        run_plan(capsys, f"llava-onevison-7b {options}")


def test_a_vendor_has_a_price(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    settings = "{url: https://api.example.com/v1, model: m, key: API_KEY, image_tokens: 85}"
    price = "{input: 2, output: 8, date: 2026-11-01, source: https://example.com/prices}"
    project.write("config/models/vendor.yaml", f"label: V\nadapter: openai\nsettings: {settings}\nprice: {price}\n")
    text = " ".join(run_plan(capsys, "vendor --config suite=paper --benchmarks mmbench_video").split())
    usd = (1998 * (8 * 85 + 100) * 2 + 1998 * 100 * 8) / 1e6
    assert f"price ${usd:.2f} at most (arithmetic: 1.6M input tokens with `image_tokens` per frame" in text
    assert "price of 2026-11-01, https://example.com/prices) for vendor" in text
    project.edit("config/models/vendor.yaml", f"price: {price}\n", "")
    text = run_plan(capsys, "vendor --config suite=paper --benchmarks mmbench_video")
    assert "price      unknown (config/models/vendor.yaml has no `price:`)" in text


@pytest.mark.parametrize("benchmark", ["velociti", "vinoground", "temporalbench", "mmbench_video"])
def test_the_settings_for_data_that_are_copied_by_hand_are_valid(
    project: Project, capsys: pytest.CaptureFixture[str], benchmark: str
) -> None:
    lines = run_plan(capsys, f"--config suite=paper --benchmarks {benchmark}").split("\n\n")[1].splitlines()
    start = next(number for number, line in enumerate(lines) if "release: {kind: folder" in line)
    file = project.root / "settings.yaml"
    file.write_text(textwrap.dedent("\n".join(lines[start:])))
    suite = load_yaml(project.root / "config/suites/paper.yaml")
    suite["benchmarks"][benchmark] |= load_yaml(file)
    project.write("config/suites/paper.yaml", dump_yaml(suite))
    text = " ".join(run_plan(capsys, f"--config suite=paper --benchmarks {benchmark}").split())
    assert f"by hand resources/data/{benchmark}, resources/data/{benchmark}/" in text
    assert "questions unknown for " in text and "(not counted yet)" in text, "a user's folder may have other samples"


def test_a_benchmark_without_stated_data_is_planned(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    text = (project.root / "config/benchmarks/vinoground.yaml").read_text()
    project.write("config/benchmarks/vinoground.yaml", re.sub(r"(?m)^data:\n(?:  .*\n)*", "", text))
    block = " ".join(run_plan(capsys, "--config suite=paper --benchmarks vinoground").split())
    assert "questions unknown for paper (not counted yet)" in block and "copy files such as vinoground.csv, " in block
    assert "licence" not in block and "GPU time unknown for a 7B model" in block


def test_the_counts_are_those_of_the_papers() -> None:
    """Compare them with the numbers of the papers' tables; the rehearsal's tests compare them with requests."""

    def read_numbers(benchmark: str, table: str, metric: str) -> dict[str, float]:
        with (ROOT / f"resources/published/{benchmark}.csv").open() as stream:
            rows = [row for row in csv.DictReader(stream) if (row["table"], row["metric"]) == (table, metric)]
        return {row["group"]: float(row["value"]) for row in rows if "ours" in row["row"] or table != "table1"}

    benchmarks = load(ROOT, {"suite": "paper"}).benchmarks
    data = {name: benchmark.data for name, benchmark in benchmarks.items() if benchmark.data is not None}
    assert data["velociti"].counts[0].samples.number == sum(read_numbers("velociti", "table11", "samples").values())
    assert data["vinoground"].counts[0].samples.number == read_numbers("vinoground", "table2", "pairs")["total"]
    assert data["temporalbench"].counts[0].clips.number == read_numbers("temporalbench", "table1", "samples")["overall"]
    page = (ROOT / "docs/papers/mmbench_video.md").read_text()
    unpacked = data["mmbench_video"].counts[0]
    assert f"{unpacked.clips.number:.0f} videos" in page and f"{unpacked.samples.number:,.0f} questions" in page
    subset = data["velociti"].counts[1]
    with (ROOT / "resources/subsets/velociti-150.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert (subset.samples.number, subset.clips.number) == (len(rows), len({row["video_id"] for row in rows}))


def test_eval_prints_the_terms_first(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = project.plan("paper")
    (line,) = describe_terms(plan, ["temporalbench"])
    assert "Microsoft Research License Terms" in line and "gated; log in at https://huggingface.co/datasets/" in line
    assert list(describe_terms(project.plan("demo"), ["temporalbench"])) == [], "the toy world has no terms"
    with pytest.raises(UserError, match="neither a folder nor a repository"):
        app(shlex.split("eval no-such-model --config suite=paper --benchmarks temporalbench -n"), standalone_mode=False)
    assert capsys.readouterr().out.startswith(line)
