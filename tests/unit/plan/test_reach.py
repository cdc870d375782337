"""What a change reaches: edit a module or a file of the configuration, and exactly these key files differ."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel
from reprise.config.load import load
from reprise.core.code_digest import CodeDigests
from reprise.plan.runs import Plan
from reprise.plan.suite import collect_keys

from tests.unit.config.conftest import ROOT, Project

TOY_LLAVA = "(?!time/).+/toy-llava-ov(-early)?"
CARD, CARDS = "time/.+", "time(_all|/.+)"
OVERVIEW = "tables/overview"  # of the main table of each benchmark
JUDGES = "tables/judges"
REPORT = "report"  # it is made of what others have made, and by the code that tables are made by
IMPORTED = ".+/random-imported"
Keys = dict[str, BaseModel]


def keys_of(plan: Plan, code: CodeDigests) -> Keys:
    """Keys by the names of their files below `keys/`."""
    folder = plan.results.folder / "keys"
    return {str(path.relative_to(folder).with_suffix("")): key for path, key in collect_keys(plan, code).items()}


@pytest.fixture(scope="module")
def plan() -> Plan:
    """The demo's, with a card of time."""
    found = load(ROOT, {"suite": "demo"})
    return Plan(replace(found, suite=found.suite.model_copy(update={"time": ["toy-llava-ov"]})))


@pytest.fixture(scope="module")
def code() -> CodeDigests:
    return CodeDigests()


@pytest.fixture(scope="module")
def before(plan: Plan, code: CodeDigests) -> Keys:
    return keys_of(plan, code)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the library's code; every test leaves it as it was."""
    folder = tmp_path_factory.mktemp("library") / "workflow"
    for package in ("reprise", "synthetic"):
        shutil.copytree(ROOT / "workflow" / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    read = CodeDigests(folder, folder / "record.jsonl")
    for name in read._files:
        read.closure([name])
    read.keep()
    return folder


def assert_differ(old: Keys, new: Keys, patterns: list[str]) -> None:
    """That all keys of these patterns changed, came or went, and no other."""
    names = old.keys() | new.keys()
    assert all(any(re.fullmatch(pattern, name) for name in names) for pattern in patterns), "a pattern fits no key"
    changed = {name for name in names if old.get(name) != new.get(name)}
    assert changed == {name for name in names if any(re.fullmatch(pattern, name) for pattern in patterns)}


@pytest.mark.parametrize(
    ("module", "patterns"),
    [
        # a benchmark's release, questions and scores are three things, and no other benchmark's
        ("reprise/benchmarks/velociti/release.py", ["annotations/velociti"]),
        ("reprise/benchmarks/velociti/scores.py", ["metrics/velociti/.+", "(tables|figures)/velociti/.+", OVERVIEW, CARD, REPORT]),
        # a stage
        ("reprise/stages/infer.py", []),
        ("reprise/stages/import_answers.py", [IMPORTED]),
        # a room
        ("reprise/reading/robust.py", ["verdicts/.+", "judgements", "judge_requests/.+", IMPORTED]),
        ("reprise/media/sampling.py", ["frames/.+", IMPORTED]),
        ("reprise/models/local/transformers.py", [TOY_LLAVA]),
        ("reprise/tables/render/latex.py", ["tables/.+", CARDS, REPORT]),
        # the toy world is a plug-in of the demo
        ("synthetic/toyworld/script.py", ["release/.+", "sources/.+"]),
        # what carries results and shapes none
        ("reprise/core/log.py", []),
        ("reprise/plan/suite.py", []),
    ],
)  # fmt: skip
def test_an_edited_module_reaches_what_it_shapes(
    plan: Plan, before: Keys, library: Path, module: str, patterns: list[str]
) -> None:
    path = library / module
    text = path.read_text()
    path.write_text(f"{text}\nADDED = 1\n")
    try:
        after = keys_of(plan, CodeDigests(library, library / "record.jsonl"))
    finally:
        path.write_text(text)
    assert_differ(before, after, patterns)


@pytest.mark.parametrize(
    ("file", "old", "new", "patterns"),
    [
        ("config/config.yaml", "suite: demo", "suite: demo\nconfidence: 0.9", ["metrics/.+", OVERVIEW, JUDGES, CARDS, REPORT]),
        ("config/config.yaml", "fps1: {rule: fps_mid, fps: 1}", "fps1: {rule: fps_mid, fps: 1.5}", [r"frames/.+/fps1(\.\w+)?", r".+/fps1(\.\w+)?/[^/]+"]),
        # of a model: what shapes its answers, and not what it is called
        ("config/models/random.yaml", "label:", "threads: 2\nmemory_mb: 3000\nlabel:", []),
        ("config/models/toy-llava-ov.yaml", "checkpoints/llava-ov-late", "checkpoints/llava-ov-early", ["(?!time/).+/toy-llava-ov"]),
        # of a benchmark and its prompts
        ("config/benchmarks/velociti.yaml", "reading: output_block", "reading: text", ["verdicts/velociti/cot.subset"]),
        ("config/benchmarks/vinoground.yaml", "{video: 3, group: 3}", "{video: 4, group: 4}", ["(tables|figures)/vinoground/(?!fig1[12]).+", OVERVIEW]),
        ("resources/prompts/velociti.yaml", "Here is a caption", "This is a caption", ["requests/velociti/entail(.subset)?", "velociti/entail(.subset)?/[^/]+/(?!random-imported).+"]),
        # of a table: the table, and the runs that it adds
    ],
)  # fmt: skip
def test_an_edited_file_reaches_what_it_shapes(
    project: Project, code: CodeDigests, before: Keys, file: str, old: str, new: str, patterns: list[str]
) -> None:
    project.edit(file, old, new)
    assert_differ(before, keys_of(project.plan(), code), patterns)


def test_keys_hold_no_more_than_their_job_needs(before: Keys) -> None:
    """A run's key file is an input of the job: whatever is in it asks the model again."""
    run = before["velociti/entail/fps1/random"].model_dump()
    assert sorted(run) == ["answers", "checkpoint", "gpus", "key", "run"]
    assert sorted(run["answers"]) == [
        "adapter", "ask", "attention", "code", "dtype", "form", "max_tokens", "model", "prompt", "sampling", "settings",
        "trust_remote_code", "versions",
    ]  # fmt: skip
