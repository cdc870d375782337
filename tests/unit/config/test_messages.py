"""Every mistake in the configuration is one short message: file, key, what was found, what is allowed."""

import pytest
from reprise.config.load import load
from reprise.core.errors import UserError

from tests.unit.config.conftest import Project

MAIN, SUITE = "config/config.yaml", "config/suites/demo.yaml"
RANDOM, TOY, VERA = "config/models/random.yaml", "config/models/toy-llava-ov.yaml", "config/models/vera.yaml"
ONEVISION, EXTERNAL = "config/models/llava-onevision-7b.yaml", "config/external.yaml"
VELOCITI, VINOGROUND = "config/benchmarks/velociti.yaml", "config/benchmarks/vinoground.yaml"
TABLES, MORE_TABLES = "config/tables/demo/velociti.yaml", "config/tables/demo/vinoground.yaml"

LONGEST_LINE, MOST_LINES = 500, 22

# file, what stands there, what a user wrote instead, what is said (`file` is said too)
MISTAKES = [
    # YAML
    (MAIN, "samplings:", "suite: paper\nsamplings:", "line 7: not valid YAML: duplicate key 'suite'."),
    (MAIN, "fps: 0.5}", "fps: 0.5", "not valid YAML: expected ',' or '}', but got ':'."),
    (MAIN, "suite: demo", "suite: demo\n\tstore: x", "line 5: not valid YAML: found character"),
    (MAIN, "suite: demo", "suite: demo\n? [a]\n: b", "not valid YAML: a key should be a text."),
    # one type a kind of file: unknown, missing and wrong
    (MAIN, "samplings:", "sampling:", "line 7: sampling: unknown key. Did you mean 'samplings'? Allowed: confidence, locks, report_clips, samplings, scratch, store, suite, views."),
    (MAIN, "suite: demo", "suite: dem", "suite: unknown suite 'dem'. Did you mean 'demo'? Allowed: construction, demo, paper, rehearsal. These are the files in config/suites/."),
    (MAIN, "suite: demo", "suite: demo\nconfidence: 1", "line 5: confidence: should be less than 1, found 1."),
    (MAIN, "suite: demo", "suite: demo\nconfidence: 95", "line 5: confidence: should be less than 1, found 95."),
    (MAIN, "suite: demo", "suite: 3", "suite: should be a text, found 3. Write it in quotes: \"3\"."),
    (MAIN, "fps: 8}", "fsp: 8}", "samplings.fps8: rule 'fps_mid': unknown parameter 'fsp'. Did you mean 'fps'? Allowed: fps."),
    (MAIN, "fps8: {rule: fps_mid", "fps8: {rule: fps_mdi", "samplings.fps8: rule: unknown sampling rule 'fps_mdi'. Did you mean 'fps_mid'?"),
    (MAIN, "rule: linspace, frames: 1}", "rule: linspace, frames: 0}", "samplings.linspace1: rule 'linspace': frames must be a whole number of at least 1, found 0"),
    (SUITE, "shards: 4", "shards: 0", "line 16: shards: should be greater than or equal to 1, found 0."),
    (SUITE, "shards: 4", "shards: many", "shards: should be a valid integer, unable to parse string as an integer, found 'many'."),
    (SUITE, "shards: 4", "shards:", "shards: should be a valid integer, found None."),
    (SUITE, "missing_share_max", "missing_max", "missing_max: unknown key. Did you mean 'missing_share_max'?"),
    (SUITE, "show_published: false", "show_published: {}", "show_published: should be a valid boolean, found {}."),
    (SUITE, "run: [local]", "run: local", "run: should be a list, found 'local'."),
    (SUITE, "run: [local]", "run: [{gpu: 1}]", "run.0.gpu: unknown key. Did you mean 'gpus'? Allowed: gpus."),
    (SUITE, "run: [local]", "run: [{gpus: -1}]", "run.0.gpus: should be greater than or equal to 0, found -1."),
    (SUITE, "clips: ids", "clips: id", "benchmarks.velociti.clips: should be 'ids', 'release' or 'files', found 'id'. Did you mean 'ids'?"),
    (SUITE, "route: {kind: toyworld}", "route: {kind: toywrld}", "benchmarks.velociti.route.kind: should be 'toyworld', 'rehearsal', 'folder', 'archive', 'http', 'huggingface', 'youtube', found 'toywrld'. Did you mean 'toyworld'?"),
    (SUITE, "route: {kind: toyworld}", "route: {path: x}", "benchmarks.velociti.route: missing."),
    (SUITE, "route: {kind: toyworld}", "route: {kind: folder, pth: x}", "benchmarks.velociti.route.pth: unknown key. Did you mean 'path'? Allowed: kind, path, pattern."),
    (SUITE, "release: {kind: toyworld}", "release: {kind: huggingface, repo: a/b, revision: main}", "benchmarks.velociti.release.revision: should be a commit (40 hexadecimal digits) or 'unpinned', found 'main'."),
    (SUITE, "{per_test: 40}", "{per_tst: 40}", "benchmarks.velociti.subset.per_tst: unknown key. Did you mean 'per_test'?"),
    (SUITE, "{per_test: 40}", "{file: a.csv, seed: 0}", "benchmarks.velociti.subset.seed: unknown key. Allowed: file."),
    (SUITE, "{per_test: 40}", "{per_test: 40}\n    extra_runs: [entail/fps1]", "benchmarks.velociti.extra_runs.0: should be <protocol>/<sampling>/<model>, each a name"),
    (SUITE, "{per_test: 40}", "{per_test: 40}\n    also: []", "benchmarks.velociti.also: unknown key. Did you mean 'tables'? Allowed: clips, construction, extra_runs,"),
    (RANDOM, "label:", "lable:", "line 2: lable: unknown key. Did you mean 'label'?"),
    (RANDOM, "adapter: random", "adapter: rndom", "adapter: unknown adapter 'rndom'. Did you mean 'random'? Allowed: anthropic, constant, contrastive,"),
    (RANDOM, "adapter: random", "adapter: random\nsettings: {sed: 1}", "settings.sed: unknown key. Did you mean 'seed'? Allowed: seed, texts."),
    (RANDOM, "adapter: random", "adapter: random\nsettings: {seed: x}", "settings.seed: should be a valid integer"),
    (RANDOM, "adapter: random", "adapter: random\nsettings: {texts: [1]}", "settings.texts.0: should be a text, found 1. Write it in quotes: \"1\"."),
    (RANDOM, "adapter: random", "adapter: oracle\nsettings: {seed: 1}", "settings.seed: unknown key. Allowed: nothing."),
    (RANDOM, "adapter: random", "adapter: random\nrepo: a/b\ndtype: float16", "adapter 'random' loads no weights. Remove: repo, dtype."),
    (RANDOM, "adapter: random", "adapter: random\npieces: 0", "pieces: should be greater than or equal to 1, found 0"),
    (RANDOM, "adapter: random", "adapter: import\npieces: 2", "pieces: nobody is asked here. Remove it."),
    (TOY, "checkpoint: ", "repo: x/y\ncheckpoint: ", "set either checkpoint (a local folder) or repo (a hub id), not both."),
    (TOY, "checkpoint: ", "# checkpoint: ", "set either checkpoint (a local folder) or repo (a hub id), not both."),
    (ONEVISION, "revision: unpinned", "", "revision: missing; write `unpinned` and run `python -m reprise pin` to resolve it."),
    (ONEVISION, "revision: unpinned", "revision: main", "revision: should be a commit (40 hexadecimal digits) or 'unpinned', found 'main'."),
    (ONEVISION, "dtype: checkpoint", "dtype: fp16", "dtype: should be 'float32', 'bfloat16', 'float16' or 'checkpoint', found 'fp16'."),
    (VERA, "head: vera", "head: verra", "settings.head: should be 'vera', found 'verra'. Did you mean 'vera'?"),
    ("config/models/wordmatch.yaml", "adapter: wordmatch", "adapter: wordmatch\nsettings: {measure: bleu}", "settings.measure: should be 'f1' or 'recall', found 'bleu'."),
    ("config/models/last-letter.yaml", "adapter: lastletter", "adapter: lastletter\nsettings: {measure: f1}", "settings.measure: unknown key. Allowed: nothing."),
    (EXTERNAL, "gpt-4o: GPT-4o", "gpt-4o: 4", "gpt-4o: should be a group of keys, found 4."),
    (EXTERNAL, "gpt-4o: GPT-4o", "gpt-4o: {lable: GPT-4o}", "gpt-4o.lable: unknown key. Did you mean 'label'? Allowed: label, names, ratings, reference, runs."),
    (EXTERNAL, "gpt-4o: GPT-4o", "GPT-4o: GPT-4o", "GPT-4o: should be a name (lower-case letters, digits, '.', '_' and '-', first a letter or a digit), found 'GPT-4o'."),
    (EXTERNAL, "gpt-4o: GPT-4o", "oracle: Oracle", "oracle: config/models/oracle.yaml defines this model too. Remove one of the two."),
    (EXTERNAL, "o3: o3", "o3: {label: o3, runs: {vinoground/paper: .}}", "o3.runs: 'vinoground/paper': a run is named <benchmark>/<protocol>/<sampling>."),
    (VELOCITI, "title:", "titel:", "titel: unknown key. Did you mean 'title'?"),
    (VELOCITI, "title:", "license: x\ntitle:", "license: unknown key. Allowed: groups, options, paper, prompts, protocols, release_files, title."),
    (VELOCITI, "ask: score", "ask: scores", "protocols.entail.ask: should be 'score', 'choose', 'write' or 'similarity', found 'scores'. Did you mean 'score'?"),
    (VINOGROUND, "reading: first_character", "reading: first", "protocols.paper.reading: should be 'plain', 'output_block', 'first_character', 'options', 'person' or 'text', found 'first'."),
    (TABLES, "best: false", "bst: false", "tables.table3.bst: unknown key. Did you mean 'best'?"),
    (TABLES, "model: oracle", "modl: oracle", "tables.table2.sections.0.rows.5.modl: unknown key. Did you mean 'model'?"),
    (TABLES, "decimals: 0", "decimals: 9", "tables.table11.decimals: should be less than or equal to 4, found 9."),
    (TABLES, "  table2:", "  tabel2:", "tables.tabel2: should be table<N>, such as table3, found 'tabel2'."),
    # names that other files define
    (SUITE, "run: [local]", "run: [locl]", "run: unknown model 'locl'. Did you mean 'local'?"),
    (SUITE, "run: [local]", "run: [nosuch]", "run: unknown model 'nosuch'. Allowed: "),
    (SUITE, "judges: [wordmatch,", "judges: [toy-siglip,", "judges: 'toy-siglip' cannot judge: adapter 'contrastive' gives similarity."),
    (SUITE, "judges: [wordmatch,", "judges: [wordmach,", "judges: unknown model 'wordmach'. Did you mean 'wordmatch'?"),
    (SUITE, "judges: [last-letter]", "judges: [last-leter]", "benchmarks.vinoground.judges: unknown model 'last-leter'. Did you mean 'last-letter'?"),
    (SUITE, "  velociti:", "  velocti:", "benchmarks: unknown benchmark 'velocti'. Did you mean 'velociti'? Allowed: mmbench_video, temporalbench, velociti, vinoground. These are the files in config/benchmarks/."),
    (SUITE, "demo/velociti.yaml", "demo/velocity.yaml", "benchmarks.velociti.tables: no file 'config/tables/demo/velocity.yaml'. Did you mean 'config/tables/demo/velociti.yaml'?"),
    (SUITE, "{per_test: 40}", "{per_test: 40}\n    extra_runs: [entail/fps1/oracel]", "benchmarks.velociti.extra_runs: 'entail/fps1/oracel': unknown model 'oracel'. Did you mean 'oracle'?"),
    (SUITE, "{per_test: 40}", "{per_test: 40}\n    extra_runs: [similarity/fps1/toy-llava-ov]", "extra_runs: 'similarity/fps1/toy-llava-ov': the protocol asks for 'similarity', adapter 'transformers' gives score, choose, write."),
    (SUITE, "judges: [last-letter]", "judges: [last-letter]\n    extra_runs: [similarity/black8/humans]", "extra_runs: 'similarity/black8/humans': the authors' files hold no answers to form 'similarity'. Forms: questions."),
    (TABLES, "sampling: fps2", "sampling: none", "tables.table4: row 'Toy SigLIP': contrastive needs frames, but sampling 'none' shows none."),
    (TABLES, "model: toy-text, sampling: none", "model: toy-text, sampling: fps1", "row 'Toy Qwen2 (text only)': adapter 'text' takes no frames, but sampling 'fps1' shows some. Use `sampling: none`."),
    (TABLES, "protocol: similarity", "protocol: entail", "the protocol asks for 'score', adapter 'contrastive' gives similarity."),
    (TABLES, "model: oracle", "model: oracel", "tables.table2: row 'Oracle': unknown model 'oracel'. Did you mean 'oracle'?"),
    (TABLES, "protocol: entail\n", "protocol: ential\n", "unknown protocol 'ential'. Did you mean 'entail'?"),
    (TABLES, "sampling: fps1", "sampling: fps01", "unknown sampling 'fps01'. Did you mean 'fps1'?"),
    (TABLES, "benchmark: velociti", "benchmark: velocity", "benchmark: found 'velocity', expected 'velociti' as in config/suites/demo.yaml."),
    (TABLES, "metrics: [strict]", "metrics: [strit]", "tables.table2: column 'Ctrl': unknown metric 'strit'. Did you mean 'strict'?"),
    (TABLES, "group: agent_random}", "group: agent_rand}", "tables.table2: unknown group 'agent_rand'. Did you mean 'agent_random'?"),
    (TABLES, "    metrics: [strict]\n", "", "tables.table2: column 'Ctrl': names no metric, and neither does its table. (also: tables.table2: column 'AgRand',"),
    (MORE_TABLES, "compared_with: all", "compared_with: al", "tables.table5: unknown group 'al'."),
    (VELOCITI, "form: mc, prompt: mc, ask", "form: choice, prompt: mc, ask", "protocols.mc.form: unknown form 'choice'. Allowed: entail, mc, similarity."),
    (VELOCITI, "prompt: mc.authors", "prompt: mc.author", "protocols.mc.authors.prompt: unknown prompt 'mc.author'. Did you mean 'mc.authors'?"),
    (VELOCITI, "answers_of: mc", "answers_of: mcc", "protocols.mc.subset.answers_of: unknown protocol 'mcc'. Did you mean 'mc'?"),
    (VELOCITI, "answers_of: mc", "answers_of: entail", "protocols.mc.subset.answers_of: 'entail' asks another question: form, prompt, ask differ."),
    (VINOGROUND, "{video: 3, group: 3}", "{vidio: 3}", "protocols.paper.frames_min: unknown metric 'vidio'. Did you mean 'video'?"),
    (VINOGROUND, "judge: extract", "judge: extrat", "protocols.cot.judged.judge: unknown prompt 'extrat'. Did you mean 'extract'?"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "said"), MISTAKES)
def test_a_mistake_is_said_in_words(project: Project, file: str, old: str, new: str, said: str) -> None:
    project.edit(file, old, new)
    message = project.message()
    assert said in message
    line = next(line for line in message.splitlines() if said in line)
    assert line.removeprefix("  - ").startswith(f"{file}: ")
    assert len(message.splitlines()) <= MOST_LINES and max(map(len, message.splitlines())) <= LONGEST_LINE


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (TOY, "label:", "lable:"),
        ("config/models/oracle.yaml", "adapter: oracle", "adapter: [oracle"),
        (VELOCITI, "title:", "titel:"),
        (TABLES, "benchmark:", "bench:"),
        (EXTERNAL, "humans: {label: Humans, reference: true}", "humans: 1"),
        (EXTERNAL, "humans: {label: Humans, reference: true}", "humans: ["),
    ],
)
def test_what_follows_from_a_mistake_is_not_said(project: Project, file: str, old: str, new: str) -> None:
    project.edit(file, old, new)
    for suite in ("demo", "paper"):
        if file != TABLES or suite == "demo":
            message = project.message(suite)
            assert "problems" not in message and file in message


def test_all_problems_come_at_once(project: Project) -> None:
    project.edit(RANDOM, "adapter: random", "adapter: rndom")
    project.edit("config/models/oracle.yaml", "label:", "lable:")
    project.edit(TABLES, "label: Oracle, model: oracle", "label: Oracle, model: oracel")
    project.edit(SUITE, "run: [local]", "run: [nobody]")
    message = project.message()
    assert message.startswith("4 problems in the configuration:\n")
    for part in ("rndom", "lable", "oracel", "nobody"):
        assert part in message


def test_the_same_mistake_is_said_once_a_file(project: Project) -> None:
    path = project.root / TABLES
    path.write_text(path.read_text().replace("model: oracle", "model: oracel"))
    message = project.message()
    assert message.count("oracel") == 1
    assert "tables.table2: row 'Oracle': unknown model 'oracel'." in message
    assert "(also: tables.table4: row 'Oracle', tables.table5: row 'Oracle', " in message


def test_of_many_problems_a_screenful_is_shown(project: Project) -> None:
    project.write(EXTERNAL, "".join(f"m{number}: {{label: {number}}}\n" for number in range(99)))
    message = project.message()
    assert len(message.splitlines()) == MOST_LINES and message.endswith(" more. Correct these first.")
    assert max(map(len, message.splitlines())) <= LONGEST_LINE


def test_a_long_list_of_names_is_cut_to_the_nearest(project: Project) -> None:
    project.edit(TABLES, "model: oracle", "model: gpt4o")
    assert "Did you mean 'gpt-4o'? Allowed: gpt-4o, gpt-4v," in project.message()


def test_an_unknown_override_of_one_call_is_named(project: Project) -> None:
    with pytest.raises(UserError, match=r"^--config: suit: unknown key. Did you mean 'suite'\? Allowed: confidence,"):
        load(project.root, {"suit": "paper"})
    with pytest.raises(UserError, match=r"^--config: store: should be a text, found 3. Write it in quotes: \"3\"."):
        load(project.root, {"store": 3})
