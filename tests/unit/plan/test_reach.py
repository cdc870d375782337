"""What a change reaches: edit a module or a file of the configuration, and exactly these key files differ."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import BaseModel
from reprise.config.load import load
from reprise.core.code_digest import CodeDigests
from reprise.core.paths import Results
from reprise.plan.runs import Plan
from reprise.plan.suite import collect_keys

ROOT = Path(__file__).parents[3]
SUITES = ("demo", "rehearsal", "paper")
TOY_LLAVA = "(?!time/).+/toy-llava-ov(-early)?"
CARD, CARDS = "time/.+", "time(_all|/.+)"
OVERVIEW = "tables/overview"  # of the main table of each benchmark
OF_VIDEOS = "vinoground/fig1[12]|temporalbench/fig3|mmbench_video/fig[23457]"  # figures of the data, of no table
JUDGES = "tables/judges"
REPORT = "report"  # it is made of what others have made, and by the code that tables are made by
IMPORTED = ".+/random-imported"
Keys = dict[str, BaseModel]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, f"{path} does not hold {old!r}"
    path.write_text(text.replace(old, new, 1))


def named(keys: Mapping[Path, BaseModel], suite: str) -> Keys:
    """Keys by the names of their files below `keys/`."""
    return {str(path.relative_to(Results(suite).folder / "keys").with_suffix("")): key for path, key in keys.items()}


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    """A plan a suite, that of the demo with a card of time."""
    found = {suite: load(ROOT, {"suite": suite}) for suite in SUITES}
    card = found["demo"].suite.model_copy(update={"time": ["toy-llava-ov"]})
    return {
        suite: Plan(one) for suite, one in (found | {"demo": found["demo"].model_copy(update={"suite": card})}).items()
    }


@pytest.fixture(scope="module")
def code() -> CodeDigests:
    """The library's code as it is, read once."""
    return CodeDigests()


@pytest.fixture(scope="module")
def before(plans: dict[str, Plan], code: CodeDigests) -> dict[str, Keys]:
    """The keys as they are."""
    return {suite: named(collect_keys(plan, code), suite) for suite, plan in plans.items()}


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


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the configuration that a test may break."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "resources").mkdir()
    for path in (ROOT / "resources").iterdir():
        if path.name in ("prompts", "published", "rehearsal"):
            shutil.copytree(path, tmp_path / "resources" / path.name)
        else:
            (tmp_path / "resources" / path.name).symlink_to(path)
    edit(tmp_path / "config/suites/demo.yaml", "\nbenchmarks:\n", "\ntime: [toy-llava-ov]\nbenchmarks:\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_differ(old: Keys, new: Keys, patterns: list[str]) -> None:
    """That all keys of these patterns changed, came or went, and no other."""
    names = old.keys() | new.keys()
    assert all(any(re.fullmatch(pattern, name) for name in names) for pattern in patterns), "a pattern fits no key"
    changed = {name for name in names if old.get(name) != new.get(name)}
    assert changed == {name for name in names if any(re.fullmatch(pattern, name) for pattern in patterns)}


@pytest.mark.parametrize(
    ("module", "patterns", "suite"),
    [
        # a benchmark's release, questions and scores are three things, and no other benchmark's
        ("reprise/benchmarks/velociti/release.py", ["annotations/velociti"], "demo"),
        ("reprise/benchmarks/velociti/questions.py", ["requests/velociti/.+"], "demo"),
        ("reprise/benchmarks/velociti/scores.py", ["metrics/velociti/.+", "(tables|figures)/velociti/.+", OVERVIEW, CARD, REPORT], "demo"),
        # a stage
        ("reprise/stages/infer.py", [], "demo"),
        ("reprise/stages/import_answers.py", [IMPORTED], "demo"),
        ("reprise/stages/verdicts.py", ["verdicts/.+", "judge_requests/.+"], "demo"),
        # a room
        ("reprise/stats/measures.py", ["metrics/.+", "tables/.+", "figures/.+", CARD, REPORT], "demo"),
        ("reprise/reading/robust.py", ["verdicts/.+", "judgements", "judge_requests/.+", IMPORTED], "demo"),
        ("reprise/media/sampling.py", ["frames/.+", IMPORTED], "demo"),
        ("reprise/models/local/transformers.py", [TOY_LLAVA], "demo"),
        ("reprise/external/vinoground.py", ["vinoground/.+/random-imported"], "demo"),
        ("reprise/tables/render/latex.py", ["tables/.+", CARDS, REPORT], "demo"),
        # the toy world is a plug-in of the demo
        ("synthetic/toyworld/script.py", ["release/.+", "sources/.+"], "demo"),
        ("synthetic/rehearsal/words.py", [], "demo"),
        ("synthetic/rehearsal/words.py", ["release/.+", "sources/.+"], "rehearsal"),
        # what carries results and shapes none
        ("reprise/core/log.py", [], "demo"),
        ("reprise/plan/suite.py", [], "demo"),
    ],
)  # fmt: skip
def test_an_edited_module_reaches_what_it_shapes(
    plans: dict[str, Plan], before: dict[str, Keys], library: Path, module: str, patterns: list[str], suite: str
) -> None:
    path = library / module
    text = path.read_text()
    path.write_text(f"{text}\nADDED = 1\n")
    try:
        after = named(collect_keys(plans[suite], CodeDigests(library, library / "record.jsonl")), suite)
    finally:
        path.write_text(text)
    assert_differ(before[suite], after, patterns)


@pytest.mark.parametrize(
    ("file", "old", "new", "patterns"),
    [
        ("config/config.yaml", "suite: demo", "suite: demo\nconfidence: 0.9", ["metrics/.+", OVERVIEW, JUDGES, CARDS, REPORT]),
        ("config/config.yaml", "fps1: {rule: fps_mid, fps: 1}", "fps1: {rule: fps_mid, fps: 1.5}", [r"frames/.+/fps1(\.\w+)?", r".+/fps1(\.\w+)?/[^/]+"]),
        ("config/suites/demo.yaml", "shards: 4", "shards: 5", ["sources/.+", "clips/.+", "missing", REPORT]),
        # of a model: what shapes its answers, and not what it is called
        ("config/models/random.yaml", "label:", "threads: 2\nmemory_mb: 3000\nlabel:", []),
        ("config/models/toy-llava-ov.yaml", "checkpoints/llava-ov-late", "checkpoints/llava-ov-early", ["(?!time/).+/toy-llava-ov"]),
        ("config/models/wordmatch.yaml", "word overlap", "overlap of words", ["tables/mmbench_video/.+", "figures/mmbench_video/(fig1|fig6|own_types)", OVERVIEW, JUDGES]),
        # of a benchmark and its prompts
        ("config/benchmarks/velociti.yaml", "reading: output_block", "reading: text", ["verdicts/velociti/cot.subset"]),
        ("config/benchmarks/vinoground.yaml", "{video: 3, group: 3}", "{video: 4, group: 4}", ["(tables|figures)/vinoground/(?!fig1[12]).+", OVERVIEW]),
        ("resources/prompts/velociti.yaml", "Here is a caption", "This is a caption", ["requests/velociti/entail(.subset)?", "velociti/entail(.subset)?/[^/]+/(?!random-imported).+"]),
        # of a table: the table, and the runs that it adds
        ("config/tables/demo/velociti.yaml", "label: Always Yes", "label: Says yes", ["tables/velociti/table[24]"]),
    ],
)  # fmt: skip
def test_an_edited_file_reaches_what_it_shapes(
    root: Path, code: CodeDigests, before: dict[str, Keys], file: str, old: str, new: str, patterns: list[str]
) -> None:
    edit(root / file, old, new)
    assert_differ(before["demo"], named(collect_keys(Plan(load(root)), code), "demo"), patterns)


@pytest.mark.parametrize(
    ("file", "patterns"),
    [
        ("resources/published/velociti.csv", ["(tables|figures)/velociti/.+"]),
        ("resources/rehearsal/mmbench_video_ratings.csv", ["metrics/mmbench_video/(?!mm(bench|star)|sets\\.choice).+"]),
    ],
)
def test_a_file_of_numbers_reaches_by_its_content_what_is_made_of_it(
    root: Path, code: CodeDigests, before: dict[str, Keys], file: str, patterns: list[str]
) -> None:
    (root / file).touch()
    plan = Plan(load(root, {"suite": "rehearsal"}))
    assert_differ(before["rehearsal"], named(collect_keys(plan, code), "rehearsal"), [])
    path = root / file
    path.write_text(path.read_text() + path.read_text().splitlines()[-1] + "\n")
    assert_differ(before["rehearsal"], named(collect_keys(plan, code), "rehearsal"), patterns)


def test_keys_hold_no_more_than_their_job_needs(before: dict[str, Keys]) -> None:
    """A run's key file is an input of the job: whatever is in it asks the model again."""
    run = before["demo"]["velociti/entail/fps1/random"].model_dump()
    assert sorted(run) == ["answers", "checkpoint", "gpus", "key", "run"]
    assert sorted(run["answers"]) == [
        "adapter", "ask", "attention", "code", "dtype", "form", "max_tokens", "model", "prompt", "sampling", "settings",
        "trust_remote_code", "versions",
    ]  # fmt: skip
