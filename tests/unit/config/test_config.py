"""The configuration: every mistake is one short message that names file and key, and all of them come at once."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from reprise.config import load
from reprise.core.errors import UserError
from reprise.plan.plan import Plan

ROOT = Path(__file__).parents[3]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the configuration that a test may break."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "resources").symlink_to(ROOT / "resources")
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("suite", sorted(path.stem for path in (ROOT / "config/suites").glob("*.yaml")))
def test_every_suite_of_the_project_reads(root: Path, suite: str) -> None:
    assert load(root, {"suite": suite}).name == suite


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("config.yaml", "suite: demo", "suite: dem", "suite: unknown suite 'dem'. Did you mean 'demo'?"),
        ("config.yaml", "samplings:", "sampling:", "sampling: unknown key. Did you mean 'samplings'?"),
        ("config.yaml", "store: resources/store", "suite: paper", "not valid YAML: key 'suite' is there twice"),
        ("config.yaml", "fps: 8}", "fsp: 8}", "samplings.fps8: rule 'fps_mid': unknown parameter 'fsp'. Did you mean 'fps'?"),
        ("config.yaml", "fps8: {rule: fps_mid", "fps8: {rule: fps_middle", "samplings.fps8: rule: unknown sampling rule 'fps_middle'"),
        ("config.yaml", "draws: 2000", "draws: many", "bootstrap.draws: should be a valid integer"),
        ("suites/demo.yaml", "shards: 4", "shards: 0", "config/suites/demo.yaml: shards: should be greater than or equal to 1, found 0."),
        ("suites/demo.yaml", "run: [local]", "run: [locl]", "run: unknown model 'locl'. Did you mean 'local'?"),
        ("suites/demo.yaml", "missing_share_max", "missing_max", "missing_max: unknown key. Did you mean 'missing_share_max'?"),
        ("suites/demo.yaml", "clips: ids", "clips: id", "benchmarks.velociti.clips: should be 'ids' or 'release', found 'id'."),
        ("suites/demo.yaml", "route: {kind: toyworld}", "route: {kind: toy}", "benchmarks.velociti.route"),
        ("suites/demo.yaml", "tables: config/tables/demo/velociti.yaml", "tables: config/tables/x.yaml", "config/tables/x.yaml: no such file"),
        ("models/random.yaml", "adapter: random", "adapter: rndom", "config/models/random.yaml: adapter: unknown adapter 'rndom'. Did you mean 'random'?"),
        ("models/random.yaml", "settings:", "setting:", "setting: unknown key. Did you mean 'settings'?"),
        ("models/toy-llava-ov.yaml", "checkpoint: ", "repo: x/y\ncheckpoint: ", "say either checkpoint (a local folder) or repo (a hub id), and not both."),
        ("models/llava-onevision-7b.yaml", "revision: unpinned", "", "config/models/llava-onevision-7b.yaml: revision: missing; write `unpinned`"),
        ("models/llava-onevision-7b.yaml", "dtype: float16", "dtype: fp16", "dtype: should be 'float32', 'bfloat16' or 'float16', found 'fp16'."),
        ("tables/demo/velociti.yaml", "sampling: fps2", "sampling: none", "row 'Toy SigLIP': contrastive needs frames, sampling 'none' shows none."),
        ("tables/demo/velociti.yaml", "model: toy-text, sampling: none", "model: toy-text, sampling: fps1", "row 'Toy Qwen2 (text only)': adapter 'text' sees no frames, sampling 'fps1' shows some. Say `sampling: none`."),
        ("tables/demo/velociti.yaml", "protocol: similarity", "protocol: entail", "the protocol asks for 'score', adapter 'contrastive' gives similarity."),
        ("models/toy-text.yaml", "adapter: text", "adapter: text\nsettings: {head: vera}", "the protocol asks for 'score', adapter 'text' gives similarity."),
        ("models/vera.yaml", "head: vera", "head: verra", "config/models/vera.yaml: settings.head: unknown head 'verra'. Allowed: vera."),
        ("suites/demo.yaml", "judges: [wordmatch,", "judges: [toy-siglip,", "judges: 'toy-siglip' cannot judge: adapter 'contrastive' gives similarity."),
        ("suites/demo.yaml", "judges: [wordmatch,", "judges: [wordmach,", "judges: unknown model 'wordmach'. Did you mean 'wordmatch'?"),
        ("tables/demo/velociti.yaml", "model: oracle", "model: oracel", "row 'Oracle': unknown model 'oracel'. Did you mean 'oracle'?"),
        ("tables/demo/velociti.yaml", "protocol: entail\n", "protocol: ential\n", "unknown protocol 'ential'. Did you mean 'entail'?"),
        ("tables/demo/velociti.yaml", "sampling: fps1", "sampling: fps01", "unknown sampling 'fps01'. Did you mean 'fps1'?"),
        ("tables/demo/velociti.yaml", "best: false", "bst: false", "tables.table3.bst: unknown key. Did you mean 'best'?"),
        ("tables/demo/velociti.yaml", "benchmark: velociti", "benchmark: velocity", "benchmark: found 'velocity', expected 'velociti'"),
        ("tables/demo/velociti.yaml", "metrics: [strict]", "metrics: [strit]", "tables.table2: column 'Ctrl': unknown metric 'strit'. Did you mean 'strict'?"),
        ("tables/demo/velociti.yaml", "group: agent_random}", "group: agent_rand}", "tables.table2: unknown group 'agent_rand'. Did you mean 'agent_random'?"),
        ("benchmarks/velociti.yaml", "form: mc, prompt: mc, ask", "form: choice, prompt: mc, ask", "protocols.mc.form: unknown form 'choice'. Allowed: entail, mc, similarity."),
        ("benchmarks/velociti.yaml", "prompt: mc.authors", "prompt: mc.author", "protocols.mc.authors.prompt: unknown prompt 'mc.author'. Did you mean 'mc.authors'?"),
        ("benchmarks/vinoground.yaml", "{video: 3, group: 3}", "{vidio: 3}", "protocols.paper.frames_min: unknown metric 'vidio'. Did you mean 'video'?"),
        ("benchmarks/vinoground.yaml", "reading: first_character", "reading: first", "protocols.paper.reading: should be 'plain', 'output_block', 'first_character', 'options', 'person' or 'text', found 'first'."),
        ("tables/demo/vinoground.yaml", "compared_with: all", "compared_with: al", "tables.table5: unknown group 'al'."),
        ("tables/demo/vinoground.yaml", "decimals: 2, model: random", "decimals: 2, model: rndom", "unknown model 'rndom'. Did you mean 'random'?"),
        ("tables/demo/vinoground.yaml", "protocol: similarity\n        sampling: black8\n        rows:\n          - {label: Random similarities, frames: \"8\", model: random", "protocol: similarity\n        sampling: black8\n        rows:\n          - {label: Random similarities, frames: \"8\", model: toy-llava-ov", "the protocol asks for 'similarity', adapter 'transformers' gives score, choose, write."),
        ("benchmarks/velociti.yaml", "ask: score", "ask: scores", "protocols.entail.ask: should be 'score', 'choose', 'write' or 'similarity', found 'scores'."),
    ],
)  # fmt: skip
def test_a_mistake_is_named(root: Path, file: str, old: str, new: str, message: str) -> None:
    edit(root / "config" / file, old, new)
    with pytest.raises(UserError) as error:
        load(root)
    assert message in str(error.value)


def test_a_language_model_can_judge(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(root / "config/suites/demo.yaml", "judges: [wordmatch,", "judges: [toy-text,")
    monkeypatch.chdir(root)
    plan = Plan(load(root))
    judged = next(scored for scored in plan.table_scored("mmbench_video", "table3"))
    assert judged.judge == "toy-text"


def test_all_problems_come_at_once(root: Path) -> None:
    edit(root / "config/models/random.yaml", "adapter: random", "adapter: rndom")
    edit(root / "config/models/oracle.yaml", "label:", "lable:")
    edit(root / "config/tables/demo/velociti.yaml", "model: oracle", "model: oracel")
    edit(root / "config/suites/demo.yaml", "run: [local]", "run: [nobody]")
    with pytest.raises(UserError) as error:
        load(root)
    message = str(error.value)
    for part in ("rndom", "lable", "oracel", "nobody"):
        assert part in message
    assert "problems in the configuration" in message


# --- names ------------------------------------------------------------------------------------------------------------

BAD_NAMES = ("b$(touch X)", "a b", "a;b", "a'b", "..", ".hidden", "-rf", "Upper", "a\\nb", "ä")


@pytest.mark.parametrize("name", ["b$(touch X)", "..", "a\\nb"])
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config.yaml", "suite: demo", "suite: NAME"),
        ("config.yaml", "samplings:\n", "samplings:\n  NAME: {rule: none}\n"),
        ("suites/demo.yaml", "judges: [wordmatch,", "judges: [NAME,"),
        ("suites/demo.yaml", "run: [local]", "run: [NAME]"),
        ("suites/demo.yaml", "benchmarks:\n", "benchmarks:\n  NAME: {}\n"),
        ("benchmarks/velociti.yaml", "protocols:\n", "protocols:\n  NAME: {form: mc, prompt: mc, ask: choose}\n"),
        ("tables/demo/velociti.yaml", "model: oracle", "model: NAME"),
        ("tables/demo/velociti.yaml", "sampling: fps1", "sampling: NAME"),
        ("tables/demo/velociti.yaml", "protocol: entail\n", "protocol: NAME\n"),
        ("tables/demo/velociti.yaml", "tables:\n", "tables:\n  NAME: {title: x}\n"),
    ],
)
def test_a_name_that_a_shell_could_read_is_refused(root: Path, name: str, file: str, old: str, new: str) -> None:
    edit(root / "config" / file, old, new.replace("NAME", f'"{name}"'))
    with pytest.raises(UserError) as error:
        load(root)
    found = name.replace("\\n", "\n")
    lines = [line for line in str(error.value).splitlines() if f"config/{file}" in line and repr(found)[1:-1] in line]
    assert lines and re.search(r"Allowed|should match pattern '\^table", lines[0])


@pytest.mark.parametrize("name", [name for name in BAD_NAMES if name != ".."])
def test_a_file_whose_name_a_shell_could_read_is_listed_with_all_problems(root: Path, name: str) -> None:
    for folder, known in (("models", "random"), ("suites", "demo")):
        shutil.copy(root / f"config/{folder}/{known}.yaml", root / f"config/{folder}/{name}.yaml")
    edit(
        root / "config/suites/demo.yaml",
        "benchmarks:\n  velociti:\n",
        f'benchmarks:\n  velociti:\n    also: ["entail/fps1/{name}"]\n',
    )
    with pytest.raises(UserError) as error:
        load(root)
    message = str(error.value)
    for part in (
        f"config/models/{name}.yaml",
        f"config/suites/{name}.yaml",
        "config/suites/demo.yaml: benchmarks.velociti.also.0: should be <name>/<name>/<name>, found",
    ):
        assert part in message


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_suite_named_on_the_command_line_is_a_name(root: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"--config: suite: should be <name>, found .* Allowed in a name: lower-case"):
        load(root, {"suite": name})


def test_rules_quote_all_that_they_put_in_a_command() -> None:
    for path in sorted((ROOT / "workflow/rules").glob("*.smk")):
        commands = re.findall(r"^    shell:\n((?:        .*\n)+)", path.read_text(), re.MULTILINE)
        assert len(commands) == path.read_text().count("shell:")
        bare = {
            name for command in commands for name in re.findall(r"\{([^{}]+)\}", command) if not name.endswith(":q")
        }
        assert bare <= {"threads"}, path.name


def test_an_unknown_override_of_one_call_is_named(root: Path) -> None:
    with pytest.raises(UserError, match="--config suit: unknown key. Did you mean 'suite'"):
        load(root, {"suit": "paper"})


@pytest.mark.parametrize(
    ("terms", "budget", "expected"),
    [
        ("[none]", 0, set()),
        ("[random, oracle]", 0, {"random", "oracle"}),
        ("[local]", 0, {"oracle", "random", "always-first", "toy-llava-ov", "toy-llava-ov-early"}),
        ("[{gpus: 1}, none]", 0, {"oracle", "random", "always-first", "toy-llava-ov", "toy-llava-ov-early",
                                  "llava-onevision-7b", "llava-onevision-7b-si", "qwen2-vl-7b", "video-llava-7b"}),
    ],
)  # fmt: skip
def test_a_site_says_once_what_it_can_run(root: Path, terms: str, budget: float, expected: set[str]) -> None:
    edit(root / "config/suites/demo.yaml", "run: [local]", f"run: {terms}")
    edit(root / "config/suites/demo.yaml", "budget_usd: 0", f"budget_usd: {budget}")
    found = Plan(load(root)).models
    of_family = {model for model in found if model.startswith("llava-onevision")}
    assert expected <= found
    assert of_family == {model for model in expected if model.startswith("llava-onevision")}


# --- a stand-in for every model -------------------------------------------------------------------------------------


def test_the_rehearsal_has_the_papers_tables(root: Path) -> None:
    paper, rehearsal = (load(root, {"suite": suite}) for suite in ("paper", "rehearsal"))
    assert rehearsal.tables == paper.tables and rehearsal.benchmarks == paper.benchmarks


def test_a_stand_in_answers_for_every_model(root: Path) -> None:
    plan = Plan(load(root, {"suite": "rehearsal"}))
    named = {row.model for _, _, spec in plan.tables() for row in spec.places() if row.model}
    assert named and {run.model for run in plan.runs()} == named, "every row with a model runs"
    models = plan.config.models
    assert {models[slug].adapter for slug in named} == {"random"}
    assert not any(models[slug].repo or models[slug].checkpoint or models[slug].gpus for slug in named)
    assert models["llava-onevision-7b"].label == "LLaVA-OneVision-7B"
    assert len({models[slug].settings["seed"] for slug in named}) == len(named), "rows differ"


@pytest.mark.parametrize(
    ("slug", "message"),
    [
        ("random-word", "config/suites/rehearsal.yaml: stand_in: unknown model 'random-word'. Did you mean 'random-words'?"),
        ("qwen2-vl-7b", "stand_in: 'qwen2-vl-7b' (adapter 'transformers') needs weights or a server"),
        ("wordmatch", "stand_in: 'wordmatch' (adapter 'wordmatch') needs weights or a server, or cannot answer all kinds"),
    ],
)  # fmt: skip
def test_a_stand_in_that_cannot_stand_in_is_named(root: Path, slug: str, message: str) -> None:
    edit(root / "config/suites/rehearsal.yaml", "stand_in: random-words", f"stand_in: {slug}")
    with pytest.raises(UserError) as error:
        load(root, {"suite": "rehearsal"})
    assert message in str(error.value) and "oracle, random" in str(error.value)


def test_a_table_that_no_paper_has_lists_those_that_exist(root: Path) -> None:
    with pytest.raises(UserError) as error:
        Plan(load(root)).benchmarks_with("table99")
    assert "results/tables/table99: no paper of suite 'demo' has it. There are: table" in str(error.value)
    assert "table2 (velociti" in str(error.value)


@pytest.mark.parametrize(
    ("files", "message"),
    [(None, "checkpoint: no folder"), (["config.json"], "holds no weights (*.safetensors). Found: config.json.")],
)
def test_a_checkpoint_without_weights_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch, files: list[str] | None, message: str
) -> None:
    if files is not None:
        (root / "weights").mkdir()
        for name in files:
            (root / "weights" / name).write_text("{}")
    path = root / "config/models/toy-llava-ov.yaml"
    path.write_text("label: Toy\nadapter: transformers\ncheckpoint: weights\n")
    monkeypatch.chdir(root)
    with pytest.raises(UserError) as error:
        Plan(load(Path())).write_keys()
    assert "config/models/toy-llava-ov.yaml" in str(error.value) and message in str(error.value)


def test_a_model_that_does_not_run_needs_no_weights(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "config/models/toy-llava-ov.yaml").write_text("label: Toy\nadapter: transformers\ncheckpoint: nowhere\n")
    edit(root / "config/suites/demo.yaml", "run: [local]", "run: [oracle]")
    monkeypatch.chdir(root)
    Plan(load(Path())).write_keys()
    assert (root / "results/demo/keys/velociti/entail/fps1/oracle.json").is_file()


def test_a_file_laid_beside_a_release_changes_its_key(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    edit(root / "config/config.yaml", "store: resources/store", "store: store")
    edit(root / "config/suites/paper.yaml", "extras: resources/extras/mmbench_video", "extras: extras")

    def key() -> dict[str, Any]:
        return dict(Plan(load(root, {"suite": "paper"}))._data_keys("mmbench_video"))["release/mmbench_video"]

    without = key()
    (root / "extras" / "sets").mkdir(parents=True)
    manifest = root / "extras" / "sets" / "msvd.csv"
    manifest.write_text("video,question,answer\n")
    (root / "extras" / "notes.txt").write_text("not of the release")
    first = key()
    assert without["extras"]["files"] == {} and list(first["extras"]["files"]) == ["sets/msvd.csv"]
    manifest.write_text("video,question,answer\na.avi,Who?,he\n")
    assert key()["extras"] != first["extras"]
