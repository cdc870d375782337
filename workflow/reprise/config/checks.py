"""Checks across files: names that other files, or the benchmarks' modules, define."""

from collections import Counter
from collections.abc import Iterator

from reprise.benchmarks.prompts import load_prompts
from reprise.benchmarks.registry import benchmark_names, load_answers, load_questions, load_scores
from reprise.config.benchmark import Protocol
from reprise.config.construction_checks import check_constructions
from reprise.config.figure_checks import check_figures
from reprise.config.import_checks import check_imports
from reprise.config.known import Known
from reprise.config.people_checks import check_people
from reprise.config.problems import Notes, unknown_name
from reprise.config.stand_in import stand_in_problems
from reprise.config.tables import Column, Overview, Row, Section, TableSpec
from reprise.core.paths import located

TERMS = ("local", "none", "all")


def check(known: Known, suite: Notes) -> None:
    """Note all problems across files; `suite` is the suite's file."""
    found = known.found
    _check_suite(known, suite)
    check_constructions(known, suite)
    for slug in found.models:
        if found.is_import(slug):
            check_imports(known, slug, suite)
    for name in found.benchmarks:
        _check_benchmark(known, name, suite.of(f"config/benchmarks/{name}.yaml"))
    for name, tables in found.tables.items():
        notes = suite.of(found.suite.benchmarks[name].tables)
        if tables.benchmark != name:
            notes.at("benchmark").say(f"found '{tables.benchmark}', expected '{name}' as in {suite.file}.")
        for number, spec in tables.tables.items():
            _check_rows(known, spec, name, notes.at(f"tables.{number}"))
            if name in found.benchmarks:
                _check_columns(known, spec, name, notes.at(f"tables.{number}"))
        if tables.overview is not None and name in found.benchmarks:
            _check_overview(known, tables.overview, name, notes, suite)
    for name, figures in found.figures.items():
        if name in found.benchmarks and name in found.tables:
            check_figures(known, figures, name, suite.of(str(found.suite.benchmarks[name].figures)))


def _check_suite(known: Known, notes: Notes) -> None:
    found, suite = known.found, known.found.suite
    for term in suite.run:
        if isinstance(term, str):
            reasons = unknown_name("model", term, [*TERMS, *found.models, *known.unreadable])
            notes.at("run").say(*(f"{one} Also: {', '.join(TERMS)}, {{gpus: N}}." for one in reasons))
    for slug in suite.skip:
        notes.at("skip").say(*known.model(slug))
    for judge in suite.judges:
        notes.at("judges").say(*known.judge(judge))
    notes.at("stand_in").say(*stand_in_problems(found, known.unreadable))
    for name, entry in suite.benchmarks.items():
        here = notes.at(f"benchmarks.{name}")
        for judge in entry.judges or ():
            here.at(".judges").say(*known.judge(judge))
        for run in entry.extra_runs:
            here.at(f".extra_runs: '{run}'").say(*known.run(run, name))
        for group in entry.people:
            check_people(known, name, group, here.at(f".people.{group}"))
    lines = suite.overview_lines()
    named = Counter(line.model for line in lines)
    for line in lines:
        here = notes.at(f"overview: '{line.model}'")
        here.say(*known.model(line.model))
        if named[line.model] > 1:
            here.say("named twice; a model has one line.")
        for benchmark in {*(line.benchmarks or ()), *line.samplings}:
            here.say(*unknown_name("benchmark", benchmark, suite.benchmarks))
            if benchmark in found.tables and found.tables[benchmark].overview is None:
                here.say(f"{benchmark} has no part in the overview.")
        for sampling in line.samplings.values():
            here.say(*known.sampling(sampling))


def _check_overview(known: Known, part: Overview, benchmark: str, notes: Notes, suite: Notes) -> None:
    """What a benchmark shows in the overview, and whether the models of the suite can be asked that."""
    row = Row(label="-", protocol=part.protocol, sampling=part.sampling)
    spec = TableSpec(title="", caption="", columns=part.columns, sections=[Section(rows=[row])])
    _check_columns(known, spec, benchmark, notes.at("overview"))
    protocols = known.found.benchmarks[benchmark].protocols
    notes.at("overview.protocol").say(*unknown_name("protocol", part.protocol, protocols))
    notes.at("overview.sampling").say(*known.sampling(part.sampling))
    shown = known.found.overview_of(benchmark)
    for row in shown.rows() if shown else ():
        if row.model in known.found.models and part.protocol in protocols:
            reasons = _cell_problems(known, row, part.columns[0], benchmark)
            suite.at(f"overview: '{row.model}'").say(*(f"{benchmark}: {one}" for one in reasons))


def _check_rows(known: Known, spec: TableSpec, benchmark: str, notes: Notes) -> None:
    for row in spec.rows():
        for column in spec.columns:
            notes.at(f": row '{row.label}'").say(*_cell_problems(known, row, column, benchmark))


def _cell_problems(known: Known, row: Row, column: Column, benchmark: str) -> list[str]:
    cell = row.in_column(column)
    if cell.model is None or row.dataset or row.chance:
        return []
    if cell.protocol is None or cell.sampling is None:
        return ["names a model, so it (or its section) must name a protocol and a sampling too."]
    reasons = known.run(f"{cell.protocol}/{cell.sampling}/{cell.model}", benchmark)
    reasons += [reason for judge in row.judges for reason in known.model(judge)]
    return reasons + (known.sampling(column.ratio.over) if column.ratio else [])


def _check_columns(known: Known, spec: TableSpec, benchmark: str, notes: Notes) -> None:
    metrics, known_groups = known.metrics(benchmark), known.groups(benchmark)
    for column in spec.columns:
        here = notes.at(f": column '{column.title}'")
        for metric in [column.ratio.metric] if column.ratio else spec.metrics_of(column):
            here.say(*unknown_name("metric", metric, metrics))
        if column.shows == "metrics" and not spec.metrics_of(column):
            here.say("names no metric, and neither does its table.")
    groups = {c.group for c in spec.columns} | {row.group for row in spec.rows()} | {spec.compared_with}
    for group in sorted(group for group in groups if group):
        notes.say(*unknown_name("group", group, known_groups))


def _check_benchmark(known: Known, name: str, notes: Notes) -> None:
    """Names that a benchmark's module and its prompts define: forms, prompts, metrics."""
    if name not in benchmark_names():
        notes.say(*unknown_name("benchmark", name, benchmark_names()))
        return
    benchmark, forms, judged = known.found.benchmarks[name], load_scores(name).SCORES, load_answers(name)
    prompts = load_prompts(located(benchmark.prompts, known.root))
    for key, protocol in benchmark.protocols.items():
        here = notes.at(f"protocols.{key}")
        here.at(".form").say(*unknown_name("form", protocol.form, forms.keys() & load_questions(name).FORMS.keys()))
        here.at(".prompt").say(*unknown_name("prompt", protocol.prompt, prompts))
        if protocol.judge is not None:
            here.at(".judge").say(*unknown_name("prompt", protocol.judge, prompts))
        for metric in protocol.frames_min if protocol.form in forms else ():
            here.at(".frames_min").say(*unknown_name("metric", metric, forms[protocol.form].metrics))
        if protocol.judge_reads == "unread":
            here.at(".judge_reads").say(*_reading_problems(protocol))
        elif protocol.judge is not None and protocol.form in forms and protocol.form not in judged:
            listed = ", ".join(judged) or "none"
            unjudged = f"answers to form '{protocol.form}' cannot be judged."
            here.at(".judge").say(f"{unjudged} Forms whose answers can be: {listed}.")
        if protocol.answers_of is not None:
            other = benchmark.protocols.get(protocol.answers_of)
            if other is None:
                here.at(".answers_of").say(*unknown_name("protocol", protocol.answers_of, benchmark.protocols))
            elif differing := [
                one for one in ("form", "prompt", "ask") if getattr(protocol, one) != getattr(other, one)
            ]:
                asks = f"'{protocol.answers_of}' asks another question"
                here.at(".answers_of").say(f"{asks}: {', '.join(differing)} differ.")


def _reading_problems(protocol: Protocol) -> Iterator[str]:
    """What a model reads must be words that choose an option."""
    if protocol.judge is None:
        yield "no prompt by which a model reads what is left unread. Name one in `judge:`."
    if protocol.ask not in ("choose", "write") or protocol.reading == "text":
        chooses = f"answers of `ask: {protocol.ask}`, `reading: {protocol.reading}` choose no option in words."
        yield f"{chooses} Write `judge_reads: all`."
