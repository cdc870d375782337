"""Every mistake in the configuration is one short message: file, key, what was found, what is allowed."""

import pytest
from reprise.config.load import load
from reprise.core.errors import UserError

from tests.unit.config.conftest import Project

MAIN, SUITE = "config/config.yaml", "config/suites/demo.yaml"
RANDOM, TOY, VERA = "config/models/random.yaml", "config/models/toy-llava-ov.yaml", "config/models/vera.yaml"
ONEVISION, EXTERNAL = "config/models/llava-onevision-7b.yaml", "config/external.yaml"
VELOCITI, VINOGROUND = "config/benchmarks/velociti.yaml", "config/benchmarks/vinoground.yaml"
CONSTRUCTION, FIGURES = "config/suites/construction.yaml", "config/figures/demo/velociti.yaml"
WRITER_PROMPTS = "resources/prompts/construction/velociti.yaml"
TABLES, MORE_TABLES = "config/tables/demo/velociti.yaml", "config/tables/demo/vinoground.yaml"

LONGEST_LINE, MOST_LINES = 500, 22

# file, what stands there, what a user wrote instead, what is said (`file` is said too)
OTHER_WRITERS = "other_writers: [toy-other-writer]"
MISTAKES = [
    # YAML
    (MAIN, "samplings:", "suite: paper\nsamplings:", "line 7: not valid YAML: duplicate key 'suite'."),
    (MAIN, "fps: 0.5}", "fps: 0.5", "not valid YAML: did not find expected ',' or '}'."),
    (MAIN, "suite: demo", "suite: demo\n\tstore: x", "line 5: not valid YAML: found a tab character"),
    (MAIN, "suite: demo", "suite: demo\n? [a]\n: b", "not valid YAML: a key should be a text."),
    # one type a kind of file: unknown, missing and wrong
    (MAIN, "samplings:", "sampling:", "line 7: sampling: unknown key. Did you mean 'samplings'? Allowed: confidence, locks, report_clips, samplings, scratch, store, suite, views."),
    (MAIN, "suite: demo", "suite: dem", "suite: unknown suite 'dem'. Did you mean 'demo'? Allowed: construction, demo, paper, rehearsal, time. These are the files in config/suites/."),
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
    (EXTERNAL, "gpt-4o: GPT-4o", "gpt-4o: 4", 'gpt-4o: should be a text, found 4. Write it in quotes: "4".'),
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
    ("config/tables/demo/temporalbench.yaml", "model: toy-text, sampling: none", "model: toy-text, sampling: fps1", "row 'text only': adapter 'text' takes no frames, but sampling 'fps1' shows some. Use `sampling: none`."),
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
    # figures, and a suite that makes its benchmarks and asks people
    (FIGURES, "benchmark: velociti", "benchmark: vinoground", "benchmark: found 'vinoground', expected 'velociti'"),
    (FIGURES, "kind: scatter", "kind: scater", "figures.fig3.kind: should be 'bars', 'lines', 'radar', 'scatter', 'distribution', found 'scater'. Did you mean"),
    (FIGURES, "table: table2", "table: table99", "figures.fig3.table: unknown table 'table99'."),
    (FIGURES, "sections: [VELOCITI Subset]", "sections: [Velociti Subset]", "unknown section 'Velociti Subset'. Allowed: \"\", VELOCITI Subset."),
    (FIGURES, "rows: [Random draws,", "rows: [Random drawz,", "figures.fig4: table2.rows: unknown row 'Random drawz'. Did you mean 'Random draws'?"),
    (FIGURES, "group: agent_random", "group: agent_rando", "unknown group 'agent_rando'. Did you mean 'agent_random'?"),
    (FIGURES, "fig4:", "figure4:", "figures.figure4: should be fig<N>, such as fig3, or own_<name> for an analysis of our own, found 'figure4'."),
    (FIGURES, "up: neg", "up: neg\n    upp: neg", "figures.fig3.upp: unknown key. Did you mean 'up'?"),
    (FIGURES, 'sections: [""], rows: [Random draws, Toy LLaVA-OV early, Toy LLaVA-OV late, Oracle]', 'sections: [""], rows: ["Random draws, imported"]', "no row of its sections is left."),
    ("config/figures/demo/mmbench_video.yaml", "    groups:\n", "    fact: shots\n    groups:\n", "a figure counts by one of them"),
    (SUITE, FIGURES, "config/figures/demo/velocity.yaml", "benchmarks.velociti.figures: no file 'config/figures/demo/velocity.yaml'. Did you mean"),
    (CONSTRUCTION, "release: {kind: constructed}", "release: {kind: toyworld}", "benchmarks.velociti.release: should be `{kind: constructed}`, since `construction:` says how it is made."),
    (CONSTRUCTION, "writer: toy-writer", "writer: toy-writr", "benchmarks.velociti.construction.writer: unknown model 'toy-writr'. Did you mean 'toy-writer'?"),
    (CONSTRUCTION, "writer: toy-writer", "writer: toy-siglip", "benchmarks.velociti.construction.writer: 'toy-siglip' cannot write: adapter 'contrastive' gives similarity."),
    (CONSTRUCTION, "kind: velociti", "kind: velocity", "benchmarks.velociti.construction.kind: should be 'velociti', 'vinoground', 'temporalbench', 'mmbench_video', found 'velocity'. Did you mean 'velociti'?"),
    (CONSTRUCTION, "per_video: 2", "per_vid: 2", "benchmarks.velociti.construction.per_vid: unknown key. Did you mean 'per_video'?"),
    (CONSTRUCTION, "per_video: 2", "per_video: 0", "benchmarks.velociti.construction.per_video: should be greater than or equal to 1, found 0."),
    (CONSTRUCTION, f"prompts: {WRITER_PROMPTS}", "prompts: resources/prompts/construction/velocit.yaml", f"benchmarks.velociti.construction.prompts: no file 'resources/prompts/construction/velocit.yaml'. Did you mean '{WRITER_PROMPTS}'?"),
    (CONSTRUCTION, f"prompts: {WRITER_PROMPTS}", "prompts: resources/prompts/velociti.yaml", "resources/prompts/velociti.yaml has no prompt 'action_adv'. Needed: caption, action_adv, action_manner."),
    (CONSTRUCTION, "annotations: {kind: toyworld}", "annotations: {kind: rehearsal}", "benchmarks.velociti.construction.annotations.kind: should be 'toyworld', 'folder', 'huggingface', found 'rehearsal'."),
    (CONSTRUCTION, '.csv"}', '.csv", undecided: maybe}', "benchmarks.velociti.construction.review.undecided: should be 'keep' or 'drop', found 'maybe'."),
    (CONSTRUCTION, "static: {model: toy-llava-ov, samplings: [still0, still1]}", "static: {model: toy-lava-ov}", "benchmarks.mmbench_video.construction.static: unknown model 'toy-lava-ov'. Did you mean 'toy-llava-ov'?"),
    (CONSTRUCTION, "static: {model: toy-llava-ov, samplings: [still0, still1]}", "static: {model: oracle, protocol: unpackd}", "benchmarks.mmbench_video.construction.static: unknown protocol 'unpackd'. Did you mean 'unpacked'?"),
    (CONSTRUCTION, "static: {model: toy-llava-ov, samplings: [still0, still1]}", "static: {model: oracle, protocol: mmstar}", "benchmarks.mmbench_video.construction.static.protocol: 'mmstar' has no judge. Allowed: unpacked, "),
    (CONSTRUCTION, "static: {model: toy-llava-ov, samplings: [still0, still1]}", "static: {model: oracle, samplings: [interior1]}", "benchmarks.mmbench_video.construction.static.samplings: 'interior1' is no random frame. Allowed: random1, still0, still1, still2, still3."),
    (CONSTRUCTION, "static: {model: toy-llava-ov, samplings: [still0, still1]}", "static: {model: oracle, least: 4}", "benchmarks.mmbench_video.construction.static.least: should be less than or equal to 3, found 4."),
    (CONSTRUCTION, "pairs: 12", "pairs: 12\n      encoder: {kind: mpnet}", "benchmarks.vinoground.construction.encoder.kind: should be 'words', 'checkpoint', found 'mpnet'."),
    (CONSTRUCTION, "pairs: 12", "pairs: 12\n      encoder: {kind: checkpoint, folder: x, tokens: 0}", "benchmarks.vinoground.construction.encoder.tokens: should be greater than or equal to 3, found 0."),
    (CONSTRUCTION, "judges: [wordmatch]", "judges: []", "benchmarks.mmbench_video.construction.static: nobody rates its answers. Name a judge in `judges:` of the suite or of the benchmark."),
    (CONSTRUCTION, "sets, count: 5, scoring: {toy-own", "sets, scoring: {msvd: 0 to 5, toy-own", "benchmarks.mmbench_video.construction.other_sets.scoring.msvd: no file 'resources/demo/sets/msvd.csv' with the questions of this set."),
    (CONSTRUCTION, "scoring: {toy-own: 0 to 3", "scoring: {msvd: 0 to 9", "benchmarks.mmbench_video.construction.other_sets.scoring.msvd: should be '0 to 3', '0 to 5' or 'accuracy', found '0 to 9'."),
    (CONSTRUCTION, "writer: toy-writer", "writer: toy-script", "benchmarks.velociti.construction.writer: 'toy-script' cannot write: its answers are imported. Name a model that is asked here."),
    (CONSTRUCTION, OTHER_WRITERS, "other_writers: [toy-writr]", "benchmarks.temporalbench.construction.other_writers: unknown model 'toy-writr'. Did you mean 'toy-writer'?"),
    (CONSTRUCTION, OTHER_WRITERS, "other_writers: [toy-siglip]", "benchmarks.temporalbench.construction.other_writers: 'toy-siglip' cannot write: adapter 'contrastive' gives similarity."),
    (CONSTRUCTION, OTHER_WRITERS, "other_writers: [toy-writer]", "benchmarks.temporalbench.construction.other_writers: 'toy-writer' writes already. Name each writer once."),
    (CONSTRUCTION, OTHER_WRITERS, "other_writers: [oracle, oracle]", "benchmarks.temporalbench.construction.other_writers: 'oracle' writes already. Name each writer once."),
    (CONSTRUCTION, "per_video: 2", "other_writers: [oracle]", "benchmarks.velociti.construction.other_writers: unknown key. Did you mean 'writer'?"),
    (CONSTRUCTION, "per_video: 2", "files: [/etc/passwd]", "benchmarks.velociti.construction.files: '/etc/passwd' should be a pattern of files in the folder of `annotations:`, as '*.csv'."),
    (CONSTRUCTION, "per_video: 2", "files: ['../*.csv']", "benchmarks.velociti.construction.files: '../*.csv' should be a pattern"),
    (CONSTRUCTION, "per_video: 2", "files: []", "benchmarks.velociti.construction.files: '' should be a pattern"),
    (CONSTRUCTION, '.csv"}', '.csv", videos: "{nope}/x"}', "benchmarks.velociti.construction.review.videos: should have {video} and nothing else in braces, found '{nope}/x'."),
    (CONSTRUCTION, '"resources/demo/reviews/velociti/*.csv"', "resources/demo/reviews/velociti", "benchmarks.velociti.construction.review.verdicts: no file 'resources/demo/reviews/velociti'. Put it there, or name a pattern such as 'reviews/*.csv', which may match none yet."),
    ("config/models/toy-writer.yaml", "says: slides left", "say: slides left", "settings.verbs.sliding left.say: unknown key. Did you mean 'says'?"),
    (CONSTRUCTION, "run: paper/all/toy-script", "run: paper/all/toy-scrip", "benchmarks.vinoground.people.script.run: unknown model 'toy-scrip'. Did you mean 'toy-script'?"),
    (CONSTRUCTION, "run: paper/all/toy-script", "run: pape/all/toy-script", "benchmarks.vinoground.people.script.run: unknown protocol 'pape'. Did you mean 'paper'?"),
    (CONSTRUCTION, "run: paper/all/toy-script", "run: paper/every/toy-script", "benchmarks.vinoground.people.script.run: unknown sampling 'every'."),
    (CONSTRUCTION, "run: paper/all/toy-script", "run: paper/all/oracle", "benchmarks.vinoground.people.script.run: 'oracle' is asked here. Name a model whose answers are imported"),
    (CONSTRUCTION, "run: paper/all/toy-script", "run: paper/all", "benchmarks.vinoground.people.script.run: should be <protocol>/<sampling>/<model>"),
    (CONSTRUCTION, "per_survey: 8", "per_survey: 8\n        surveys: 3", "benchmarks.vinoground.people.script.surveys: found 3, and per_survey 8. Name one of both."),
    (CONSTRUCTION, "per_survey: 8", "per_survey: 0", "benchmarks.vinoground.people.script.per_survey: should be greater than or equal to 1, found 0."),
    (CONSTRUCTION, "workers: 10", "workers: 10\n        ties: second", "benchmarks.vinoground.people.script.ties: should be 'wrong', 'draw' or 'first_option', found 'second'."),
    (CONSTRUCTION, '"resources/demo/people/vinoground/*.csv"', "answers.csv", "benchmarks.vinoground.people.script.answers: no file 'answers.csv'. Put it there, or name a pattern such as 'answers/*.csv', which may match none yet."),
    (CONSTRUCTION, "workers: 10", "workers: 10\n        left_out: c.csv", "benchmarks.vinoground.people.script.left_out: no file 'c.csv'. Put it there, or name a pattern"),
    (CONSTRUCTION, "workers: 10", "seconds: .inf", "benchmarks.vinoground.people.script.seconds: should be a finite number, found inf."),
    (CONSTRUCTION, "workers: 10", "worker: 10", "benchmarks.vinoground.people.script.worker: unknown key. Did you mean 'workers'?"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "said"), MISTAKES)
def test_a_mistake_is_said_in_words(project: Project, file: str, old: str, new: str, said: str) -> None:
    project.edit(file, old, new)
    message = project.message("construction" if "construction" in file or "writer" in file else "")
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
