"""Test that every mistake in the configuration has one short message: file, key, value, allowed values."""

import os
from pathlib import Path

import pytest
from reprise.config.load import load
from reprise.core.errors import UserError

from tests.unit.config.conftest import MMBENCH_VIDEO, Project, add_rater_groups

MAIN, SUITE = "config/config.yaml", "config/suites/demo.yaml"
RANDOM, TOY, VERA = "config/models/random.yaml", "config/models/toy-llava-ov.yaml", "config/models/vera.yaml"
ONEVISION, EXTERNAL = "config/models/llava-onevision-7b.yaml", "config/external.yaml"
SIGLIP = "config/models/siglip.yaml"
VELOCITI, VINOGROUND = "config/benchmarks/velociti.yaml", "config/benchmarks/vinoground.yaml"
REHEARSAL = "config/suites/rehearsal.yaml"
CONSTRUCTION, FIGURES = "config/suites/construction.yaml", "config/figures/demo/velociti.yaml"
WRITER_PROMPTS = "resources/prompts/construction/velociti.yaml"
TABLES, MORE_TABLES = "config/tables/demo/velociti.yaml", "config/tables/demo/vinoground.yaml"

MAX_LINE_LENGTH, MAX_LINES = 500, 22

OTHER_WRITERS = "other_writers: [toy-other-writer]"
RATERS = "benchmarks.mmbench_video.annotators"
OVERVIEW, COMMAND = "\noverview:\n", "b$(touch X)"
NO_FRAMES = ", ".join(f"{name}: none" for name in ("velociti", "vinoground", "temporalbench", "mmbench_video"))
# File, its text, the user's text instead, and the message (which also names the file).
MISTAKES = [
    # YAML
    (MAIN, "suite: demo", "suite: demo\n\tstore: x", "line 5: not valid YAML: found a tab character"),
    # values that YAML reads as another type
    (SUITE, "missing_share_max: 0.0", "missing_share_max: yes", "line 19: missing_share_max: should be a valid number, found True. YAML reads yes, no, on, off, true and false as true or false."),
    (SUITE, "shards: 2", "budget_usd: yes\nshards: 2", "budget_usd: should be a valid number, found True. YAML reads yes,"),
    (SUITE, "shards: 2", "budget_tokens: on\nshards: 2", "budget_tokens: should be a valid integer, found True. YAML reads yes,"),
    (SUITE, "shards: 2", 'shards: "4"', "shards: should be a valid integer, found '4'. Write it without quotes, and without zeros in front."),
    (SUITE, "shards: 2", "shards: 010", "shards: should be a valid integer, found '010'. Write it without quotes, and without zeros in front."),
    (SUITE, "shards: 2", "shards: 1:30", "shards: should be a valid integer, found '1:30'."),
    (SUITE, "shards: 2", "shards: 4.0", "shards: should be a valid integer, found 4.0."),
    (SUITE, "missing_share_max: 0.0", "missing_share_max: .nan", "line 19: .nan is not a number that a setting can have."),
    (SUITE, "title: Demo (toy world)", "title: no", "title: should be a text, found False. YAML reads yes, no, on, off, true and false as true or false; a text needs quotes."),
    (SUITE, "title: Demo (toy world)", "title: 2024", 'title: should be a text, found 2024. Write it in quotes: "2024".'),
    (SUITE, "{per_test: 16}", "{per_test: true}", "benchmarks.velociti.subset.per_test: should be a valid integer, found True."),
    (SUITE, "show_published: false", "show_published: 0", "show_published: should be a valid boolean, found 0."),
    (RANDOM, "adapter: random", "adapter: random\nhours: yes", "hours: should be a valid number, found True."),
    (RANDOM, "adapter: random", "adapter: random\nsettings: {seed: yes}", "settings.seed: should be a valid integer, found True."),
    (VINOGROUND, "{video: 3, group: 3}", "{video: yes}", "protocols.paper.frames_min.video: should be a valid integer, found True."),
    (MAIN, "samplings:\n", "samplings:\n  yes: {rule: all}\n", 'line 8: the key yes is read as true or false. Put it in quotes: "yes".'),
    (MAIN, "samplings:\n", "samplings:\n  2024: {rule: all}\n", 'line 8: the key 2024 is read as a number. Put it in quotes: "2024".'),
    (MAIN, "random1: {rule: random_one, of: {rule: fps_mid, fps: 1}", "random1: {rule: random_one, of: all", "samplings.random1: rule 'random_one': of: a sampling should be a group of keys, such as {rule: all}, found 'all'."),
    (MAIN, "still0: {rule: random_one, of: {rule: all}, seed: 0}", "still0: {rule: random_one, of: {rule: all}, seed: yes}", "samplings.still0: rule 'random_one': seed must be a whole number, found True."),
    (MAIN, "fps8: {rule: fps_mid, fps: 8}", "fps8: {rule: fps_mid, fps: on}", "samplings.fps8: rule 'fps_mid': fps must be a number above 0, found True."),
    # paths, and names of videos
    (MAIN, "suite: demo", "suite: demo\nstore: s3://bucket/store", "line 5: store: 's3://bucket/store' is a URL. Use a path on this machine; mount remote files first."),
    (MAIN, "suite: demo", "suite: demo\nstore: node:/store", "store: 'node:/store' is a URL."),
    (MAIN, "suite: demo", "suite: demo\nscratch: file:///tmp", "scratch: 'file:///tmp' is a URL."),
    (MAIN, "suite: demo", "suite: demo\nstore: $NOT_SET/store", "store: '$NOT_SET/store': the variable $NOT_SET is not set. Set it, or write the path out."),
    (MAIN, "suite: demo", "suite: demo\nstore: ~nobody-of-this-name/x", "store: '~nobody-of-this-name/x': the home folder of ~nobody-of-this-name is not known here."),
    (MAIN, "suite: demo", 'suite: demo\nstore: ""', "store: should be a path, found an empty text."),
    (MAIN, "suite: demo", 'suite: demo\nstore: "a\\0b"', "line 5: a NUL character is not allowed."),
    (MAIN, "suite: demo", f"suite: demo\nstore: {'n' * 300}", "is longer than a path can be."),
    (SUITE, "route: {kind: toyworld}", "route: {kind: folder, path: https://example.org/videos}", "benchmarks.velociti.route.path: 'https://example.org/videos' is a URL."),
    (SUITE, "route: {kind: toyworld}", "route: {kind: folder, path: v, pattern: video.mp4}", "benchmarks.velociti.route.pattern: 'video.mp4' is the same for every video. Write {source_id} where the id of a video stands."),
    (SUITE, "route: {kind: toyworld}", "route: {kind: archive, path: v.zip, member: '{id}.mp4'}", "benchmarks.velociti.route.member: '{id}.mp4' is the same for every video."),
    (SUITE, "route: {kind: toyworld}", "route: {kind: http, url: 'https://example.org/v.mp4'}", "benchmarks.velociti.route.url: 'https://example.org/v.mp4' is the same for every video."),
    (SUITE, "release: {kind: toyworld}", 'release: {kind: folder, path: "s3://x/y"}', "benchmarks.velociti.release.path: 's3://x/y' is a URL."),
    # keys and values of each kind of file: unknown, missing and wrong
    (MAIN, "samplings:", "sampling:", "line 7: sampling: unknown key. Did you mean 'samplings'? Allowed: benchmarks, confidence, report_clips, samplings, scratch, store, suite, transforms."),
    (MAIN, "suite: demo", "suite: dem", "suite: unknown suite 'dem'. Did you mean 'demo'? Allowed: construction, demo, paper, rehearsal, temporal. These are the files in config/suites/."),
    (MAIN, "fps8: {rule: fps_mid", "fps8: {rule: fps_mdi", "samplings.fps8: rule: unknown sampling rule 'fps_mdi'. Did you mean 'fps_mid'?"),
    (SUITE, "shards: 2", "shards: 0", "line 16: shards: should be greater than or equal to 1, found 0."),
    (SUITE, "route: {kind: toyworld}", "route: {kind: toywrld}", "benchmarks.velociti.route.kind: should be 'toyworld', 'rehearsal', 'folder', 'archive', 'http', 'huggingface', 'youtube', found 'toywrld'. Did you mean 'toyworld'?"),
    (SUITE, "{per_test: 16}", "{per_test: 24}\n    extra_runs: [entail/fps1]", "benchmarks.velociti.extra_runs.0: should be <protocol>/<sampling>/<model>, each a name"),
    (RANDOM, "label: ", "label: \" \"  # ", "label: should be a text that is not empty, found ' '."),
    (EXTERNAL, "gpt-4o: GPT-4o", "gpt-4o: ''", "gpt-4o: should be a text that is not empty, found ''."),
    (EXTERNAL, "label: Humans", "label: ''", "humans.label: should be a text that is not empty, found ''."),
    (RANDOM, "adapter: random", "adapter: rndom", "adapter: unknown adapter 'rndom'. Did you mean 'random'? Allowed: anthropic, constant, contrastive,"),
    (RANDOM, "adapter: random", "adapter: random\nrepo: a/b\ndtype: float16", "adapter 'random' does not use: repo, dtype. Remove these settings."),
    (TOY, "checkpoint: ", "repo: x/y\ncheckpoint: ", "set either checkpoint (a local folder) or repo (a hub id), not both."),
    (TOY, "checkpoint: ", "checkpoint: nowhere/", "checkpoint: no folder"),
    (ONEVISION, "revision: unpinned", "", "revision: missing; write `unpinned` and run `reprise pin` to resolve it."),
    (ONEVISION, "revision: unpinned", "revision: main", "revision: should be a commit (40 hexadecimal digits) or 'unpinned', found 'main'."),
    (ONEVISION, "gpus: 1", "gpus: 4\ngpus_per_copy: 3", "gpus_per_copy: 3 does not divide `gpus: 4`. Use 1, `gpus` itself, or another divisor of it."),
    (SIGLIP, "gpus: 1", "gpus: 2\ngpus_per_copy: 2", "gpus_per_copy: a model of adapter 'contrastive' uses one GPU. Use 1, or remove it."),
    (RANDOM, "adapter: random", "adapter: random\ngpus_per_copy: 1", "gpus_per_copy: 1 does not divide `gpus: 0`."),
    (EXTERNAL, "gpt-4o: GPT-4o", "GPT-4o: GPT-4o", "GPT-4o: should be a name (lower-case letters, digits, '.', '_' and '-', first a letter or a digit), found 'GPT-4o'."),
    (EXTERNAL, "gpt-4o: GPT-4o", "oracle: Oracle", "oracle: config/models/oracle.yaml defines this model too. Remove one of the two."),
    (TABLES, "  table2:", "  tabel2:", "tables.tabel2: should be table<N>, such as table3, found 'tabel2'."),
    (TABLES, "label: Oracle, model: oracle", "label: Oracle, 4 frames, model: oracle", "tables.table2.sections.0.rows.5.4 frames: a key without a value. If it belongs to the text before it: a text with a comma needs quotes."),
    (SUITE, "title: Demo (toy world)", "title:", "line 3: title: should be a text, but has no value."),
    # names with shell syntax
    (MAIN, "samplings:\n", f"samplings:\n  '{COMMAND}': {{rule: none}}\n", f"samplings.{COMMAND}: should be a name (lower-case letters, digits,"),
    (SUITE, "judges: [wordmatch,", f"judges: ['{COMMAND}',", f"judges.0: should be a name (lower-case letters, digits, '.', '_' and '-', first a letter or a digit), found '{COMMAND}'."),
    (SUITE, "\nbenchmarks:\n", f"\nbenchmarks:\n  '{COMMAND}': {{}}\n", f"benchmarks.{COMMAND}: should be a name"),
    (VELOCITI, "protocols:\n", f"protocols:\n  '{COMMAND}': {{form: mc, prompt: mc, request_type: choose}}\n", f"protocols.{COMMAND}: should be a name"),
    (TABLES, "model: oracle", f"model: '{COMMAND}'", "model: should be a name"),
    # references to names in other files
    (SUITE, "run: [local]", "run: [locl]", "run: unknown model 'locl'. Did you mean 'local'?"),
    (SUITE, "judges: [wordmatch,", "judges: [toy-siglip,", "judges: 'toy-siglip' cannot judge: adapter 'contrastive' supports only similarity."),
    (SUITE, "  velociti:", "  velocti:", "benchmarks: unknown benchmark 'velocti'. Did you mean 'velociti'? Allowed: mmbench_video, temporalbench, velociti, vinoground. These are the files in config/benchmarks/."),
    (SUITE, "demo/velociti.yaml", "demo/velocity.yaml", "benchmarks.velociti.tables: no file 'config/tables/demo/velocity.yaml'. Did you mean 'config/tables/demo/velociti.yaml'?"),
    (SUITE, "{per_test: 16}", "{per_test: 24}\n    extra_runs: [similarity/fps1/toy-llava-ov]", "extra_runs: 'similarity/fps1/toy-llava-ov': the protocol requests 'similarity', but adapter 'transformers' supports only score, choose, write."),
    (SUITE, "judges: [last-letter]", "judges: [last-letter]\n    extra_runs: [similarity/black8/humans]", "extra_runs: 'similarity/black8/humans': the authors' files contain no responses to form 'similarity'. Forms: questions."),
    (TABLES, "sampling: fps2", "sampling: none", "tables.table4: row 'Toy SigLIP': adapter 'contrastive' needs frames, but sampling 'none' selects none."),
    ("config/tables/demo/temporalbench.yaml", "model: toy-text, sampling: none", "model: toy-text, sampling: fps1", "row 'text only': adapter 'text' takes no frames, but sampling 'fps1' selects some. Use `sampling: none`."),
    (TABLES, "model: oracle", "model: oracel", "tables.table2: row 'Oracle': unknown model 'oracel'. Did you mean 'oracle'?"),
    (TABLES, "group: agent_random}", "group: agent_rand}", "tables.table2: unknown group 'agent_rand'. Did you mean 'agent_random'?"),
    (TABLES, "    metrics: [strict]\n", "", "tables.table2: column 'Ctrl': names no metric, and neither does its table. (also: tables.table2: column 'AgRand',"),
    (TABLES, "- protocol: entail\n", "-\n", "tables.table2: row 'Random draws': has a model, so it (or its section) needs a protocol and a sampling too."),
    (VELOCITI, "form: mc, prompt: mc, request_type", "form: choice, prompt: mc, request_type", "protocols.mc.form: unknown form 'choice'. Allowed: entail, mc, similarity."),
    (VELOCITI, "  cot.subset: chain", "  cot.subsets: chain", "protocol_titles: unknown protocol 'cot.subsets'. Did you mean 'cot.subset'?"),
    (VELOCITI, "responses_from: mc", "responses_from: entail", "protocols.mc.subset.responses_from: 'entail' has different requests: form, prompt, request_type differ."),
    (VINOGROUND, "request_type: similarity}", "request_type: similarity, judge: extract}", "protocols.similarity.judge: responses to form 'similarity' cannot be judged. Forms that can be judged: questions."),
    (VINOGROUND, "request_type: similarity}", "request_type: similarity, judge_scope: unparsed}", "protocols.similarity.judge_scope: needs a prompt for the judge of unparsed responses. Set `judge:` to the name of a prompt."),
    (VINOGROUND, "request_type: similarity}", "request_type: similarity, judge: extract, judge_scope: unparsed}", "responses with `request_type: similarity` and `extraction: plain` contain no option in words. Set `judge_scope: all`."),
    (VINOGROUND, "{video: 3, group: 3}", "{vidio: 3}", "protocols.paper.frames_min: unknown metric 'vidio'. Did you mean 'video'?"),
    (REHEARSAL, "baseline: random-words", "baseline: random-word", "baseline: 'random-word': a baseline must answer all kinds of requests without weights or a server. Did you mean 'random-words'? Allowed: always-first,"),
    # the overview, transforms and temporal profiles
    (SUITE, OVERVIEW, f"{OVERVIEW}  - toy-llava-ov\n", "overview: 'toy-llava-ov': duplicate; a model has one line in the overview."),
    (MORE_TABLES, "  protocol: paper\n  sampling: fps1\n  columns", "  protocol: papr\n  sampling: fps1\n  columns", "overview.protocol: unknown protocol 'papr'. Did you mean 'paper'?"),
    (MORE_TABLES, "overview:\n  table: table3", "overview:\n  table: table33", "overview.table: no table33 here. There are: table2, table3,"),
    (SUITE, "{per_test: 16}", "{per_test: 24}\n    extra_runs: [mc/interior8.grid4x4/random]", "sampling 'interior8.grid4x4': a grid of 4 x 4 holds 16 frames, but rule 'interior' selects 8."),
    (SUITE, "{per_test: 16}", "{per_test: 24}\n    extra_runs: [mc/interior16.grid4x5/random]", "sampling 'interior16' has no transform 'grid4x5'. Did you mean 'grid4x4'? Allowed: first, first_repeated, grid4x4, last, last_repeated, middle, middle_repeated, mismatched, none, reversed, shuffled."),
    (SUITE, "temporal: [toy-llava-ov]", "temporal: [oracle]", "temporal: 'oracle' is not in `overview:`, which defines its runs. Add it to `overview:`, or remove it here. Allowed: all, random,"),
    (CONSTRUCTION, "\nbenchmarks:\n", "\ntemporal: [oracle]\n\nbenchmarks:\n", "temporal: 'oracle' is not in `overview:`, which defines its runs. Add it to `overview:`, or remove it here."),
    (SUITE, "  - toy-llava-ov\n\n", f"  - {{model: toy-llava-ov, samplings: {{{NO_FRAMES}}}}}\n\n", "temporal: 'toy-llava-ov' receives no frames in any benchmark, so there is nothing to compare."),
    # figures, construction and human evaluation
    (FIGURES, "benchmark: velociti", "benchmark: vinoground", "benchmark: found 'vinoground', expected 'velociti'"),
    (FIGURES, "sections: [VELOCITI Subset]", "sections: [Velociti Subset]", "unknown section 'Velociti Subset'. Allowed: \"\", VELOCITI Subset."),
    (FIGURES, "rows: [Random draws,", "rows: [Random drawz,", "figures.fig4: table2.rows: unknown row 'Random drawz'. Did you mean 'Random draws'?"),
    (FIGURES, 'sections: [""], rows: [Random draws, Toy LLaVA-OV early, Toy LLaVA-OV late, Oracle]', 'sections: [""], rows: ["Random draws, imported"]', "no row matches `sections`, `rows` and `frames` together."),
    ("config/figures/demo/mmbench_video.yaml", "    groups:\n", "    measurement: shots\n    groups:\n", "a figure counts one of them"),
    (FIGURES, "table: table2, sections: [VELOCITI", "table: table99, sections: [VELOCITI", "figures.fig3.table: unknown table 'table99'. Did you mean 'table9'?"),
    (SUITE, "release: {kind: toyworld}", "release: {kind: constructed}", "benchmarks.velociti.construction: missing; `release: {kind: constructed}` needs it to construct the release."),
    (CONSTRUCTION, "\nbenchmarks:\n", "\noverview: [{model: oracle, benchmarks: [velociti]}]\nbenchmarks:\n", "overview: 'oracle': velociti has no part in the overview."),
    (CONSTRUCTION, "\n  velociti:\n", "\n  velocity:\n", "benchmarks.velocity.construction.kind: 'velociti' does not match the benchmark; write 'velocity'."),
    (CONSTRUCTION, f"prompts: {WRITER_PROMPTS}", "prompts: resources/prompts/velocity.yaml", "benchmarks.velociti.construction.prompts: no file 'resources/prompts/velocity.yaml'. Did you mean 'resources/prompts/velociti.yaml'?"),
    (CONSTRUCTION, f"prompts: {WRITER_PROMPTS}", "prompts: config/external.yaml", "config/external.yaml: humans: found ['label', 'reference'], expected user, and optionally system and source."),
    (CONSTRUCTION, "release: {kind: constructed}", "release: {kind: toyworld}", "benchmarks.velociti.release: should be `{kind: constructed}` because the benchmark has a `construction:`."),
    (CONSTRUCTION, f"prompts: {WRITER_PROMPTS}", "prompts: resources/prompts/velociti.yaml", "resources/prompts/velociti.yaml has no prompt 'action_adv'. Needed: caption, action_adv, action_manner."),
    (CONSTRUCTION, "static: {model: toy-llava-ov, samplings: [still0, still1]}", "static: {model: oracle, protocol: mmstar}", "benchmarks.mmbench_video.construction.static.protocol: 'mmstar' has no judge. Allowed: unpacked, "),
    (CONSTRUCTION, "static: {model: toy-llava-ov, samplings: [still0, still1]}", "static: {model: oracle, samplings: [interior1]}", "benchmarks.mmbench_video.construction.static.samplings: 'interior1' does not select one random frame. Allowed: random1, still0, still1, still2, still3."),
    (CONSTRUCTION, "judges: [wordmatch]", "judges: []", "benchmarks.mmbench_video.construction.static: no judge rates the answers. Name a judge in `judges:` of the suite or of the benchmark."),
    (CONSTRUCTION, "sets, count: 5, scoring: {toy-own", "sets, scoring: {msvd: 0 to 5, toy-own", "benchmarks.mmbench_video.construction.other_sets.scoring.msvd: file 'resources/demo/sets/msvd.csv' with the questions of this set does not exist."),
    (CONSTRUCTION, "writer: toy-writer", "writer: toy-script", "benchmarks.velociti.construction.writer: 'toy-script' cannot write texts because its responses are imported. Name a model that runs here."),
    (CONSTRUCTION, OTHER_WRITERS, "other_writers: [toy-writer]", "benchmarks.temporalbench.construction.other_writers: 'toy-writer' is named twice. Name each writer once."),
    (CONSTRUCTION, "per_video: 2", "files: [/etc/passwd]", "benchmarks.velociti.construction.files: '/etc/passwd' should be a pattern of files inside the folder, such as '*.csv'."),
    (CONSTRUCTION, '.csv"}', '.csv", videos: "{nope}/x"}', "benchmarks.velociti.construction.review.videos: should contain {video} and no other placeholder, found '{nope}/x'."),
    (CONSTRUCTION, '"resources/demo/reviews/velociti/*.csv"', "resources/demo/reviews/velociti", "benchmarks.velociti.construction.review.verdicts: no file 'resources/demo/reviews/velociti'. Create it, or use a pattern such as 'reviews/*.csv', which may match no file yet."),
    (CONSTRUCTION, "run: paper/all/toy-script", "run: paper/all/oracle", "benchmarks.vinoground.annotators.script.run: 'oracle' is not a model with imported predictions. Name one"),
    (CONSTRUCTION, "per_survey: 8", "per_survey: 8\n        surveys: 3", "benchmarks.vinoground.annotators.script.surveys: `surveys: 3` conflicts with `per_survey: 8`. Remove one of them."),
    ("config/suites/paper.yaml", "run: short/all/humans", "run: short/linspace16.grid4x4/humans", "'short/linspace16.grid4x4/humans' has a transform, which surveys do not support"),
    (MAIN, "samplings:\n", "samplings:\n  mine: {rule: interior, frames: 4, transform: {show: grid, rows: 2, columns: 2}}\n", "'mine': declare the transform in `transforms:`"),
    (CONSTRUCTION, "      script:\n        run: paper/", "      again: {run: paper/all/toy-script, answers: 'x*.csv'}\n      script:\n        run: paper/", "annotators.script.run: 'paper/all/toy-script' is already named by 'again'. Name each run once"),
    (CONSTRUCTION, "run: [local]", "run: [local]\nskip: [toy-writer]", "benchmarks.velociti.construction.writer: 'toy-writer' does not run here. Add it to `run:`"),
    (CONSTRUCTION, MMBENCH_VIDEO, add_rater_groups("mmbench/none/oracle"), f"{RATERS}.raters.runs.0: 'mmbench/none/oracle' has no judge. Name a run of a protocol with a judge."),
    (CONSTRUCTION, MMBENCH_VIDEO, add_rater_groups("unpacked/interior8/toy-llava-ov"), f"{RATERS}.raters.runs.0: 'unpacked/interior8/toy-llava-ov' is already named by 'again'."),
    (CONSTRUCTION, MMBENCH_VIDEO, add_rater_groups("unpacked/spaced8/oracle"), f"{RATERS}.raters.runs.0: 'unpacked/spaced8/oracle' is in no table of the suite. Add it to `extra_runs:`."),
    (CONSTRUCTION, MMBENCH_VIDEO, add_rater_groups("unpacked/interior8/oracle", "    ratings: r.csv\n"), f"{RATERS}.again.kind: conflicts with `ratings: r.csv` of the benchmark. Remove one of them."),
]  # fmt: skip


def test_a_working_directory_whose_name_is_not_utf8_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    monkeypatch.chdir(folder)
    with pytest.raises(UserError, match=r"/caf\\xe9: the path of the working directory is not UTF-8"):
        load(Path())
    assert not list(folder.iterdir())


@pytest.mark.parametrize(("written", "expanded"), [("~/x", "home/x"), ("$HERE/x", "here/x"), ("${HERE}/x", "here/x")])
def test_home_and_variables_in_paths_are_replaced(
    project: Project, written: str, expanded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project.root / "home"))
    monkeypatch.setenv("HERE", str(project.root / "here"))
    project.edit(MAIN, "suite: demo", f"suite: demo\nstore: {written}")
    project.edit(SUITE, "route: {kind: toyworld}", f"route: {{kind: folder, path: '{written}'}}")
    configuration = load(project.root)
    assert configuration.main.store == str(project.root / expanded)
    route = configuration.suite.benchmarks["velociti"].route
    assert getattr(route, "path", "") == str(project.root / expanded)
    assert not (project.root / "~").exists()


@pytest.mark.parametrize(("file", "old", "new", "expected"), MISTAKES)
def test_a_mistake_has_a_plain_message(project: Project, file: str, old: str, new: str, expected: str) -> None:
    project.edit(file, old, new)
    named_suite = next((suite for suite in ("construction", "paper", "rehearsal") if f"suites/{suite}" in file), "")
    message = project.message("paper" if file in (ONEVISION, SIGLIP) else named_suite)
    assert expected in message
    line = next(line for line in message.splitlines() if expected in line)
    assert line.removeprefix("  - ").startswith(f"{file}: ")
    assert len(message.splitlines()) <= MAX_LINES and max(map(len, message.splitlines())) <= MAX_LINE_LENGTH


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (TOY, "label:", "lable:"),
        (TABLES, "benchmark:", "bench:"),
        (EXTERNAL, "humans: {label: Humans, reference: true}", "humans: ["),
    ],
)
def test_only_the_mistake_and_not_its_consequences_are_listed(project: Project, file: str, old: str, new: str) -> None:
    project.edit(file, old, new)
    for suite in ("demo", "paper"):
        if file not in (TABLES, TOY) or suite == "demo":
            message = project.message(suite)
            assert "problems" not in message and file in message


def test_all_problems_are_in_one_message(project: Project) -> None:
    project.edit(RANDOM, "adapter: random", "adapter: rndom")
    project.edit("config/models/oracle.yaml", "label:", "lable:")
    project.edit(TABLES, "label: Oracle, model: oracle", "label: Oracle, model: oracel")
    project.edit(SUITE, "run: [local]", "run: [nobody]")
    message = project.message()
    assert message.startswith("4 problems in the configuration:\n")
    for part in ("rndom", "lable", "oracel", "nobody"):
        assert part in message


def test_a_long_list_of_problems_is_cut(project: Project) -> None:
    project.write(EXTERNAL, "".join(f"m{number}: {{label: {number}}}\n" for number in range(99)))
    message = project.message()
    assert len(message.splitlines()) == MAX_LINES and message.endswith(" more. Correct these first.")
    assert max(map(len, message.splitlines())) <= MAX_LINE_LENGTH


def test_an_unknown_override_on_the_command_line_is_named(project: Project) -> None:
    with pytest.raises(
        UserError, match=r"^--config: suit: unknown key. Did you mean 'suite'\? Allowed: benchmarks, confidence,"
    ):
        load(project.root, {"suit": "paper"})
    with pytest.raises(UserError, match=r"^--config: store: should be a text, found 3. Write it in quotes: \"3\"."):
        load(project.root, {"store": 3})
