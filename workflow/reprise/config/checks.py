"""Check tables, figures, benchmarks and imports against names that other files or the benchmarks' modules define."""

from collections.abc import Iterator

from reprise.benchmarks.prompts import load_prompts
from reprise.benchmarks.registry import benchmark_names, load_answers, load_questions, load_scores
from reprise.config.figures import Distribution, Figures, Part
from reprise.config.known import Known, form_problems
from reprise.config.problems import Notes, unknown_name
from reprise.config.suite_checks import check_suite
from reprise.config.tables import Column, Overview, Row, Section, TableSpec
from reprise.core.files import inside
from reprise.core.paths import RUN_NAME, located
from reprise.external import has_importer, imports_of, load_rating_importer


def check(known: Known, suite: Notes) -> None:
    """Note every problem of the configuration that involves more than one file."""
    config = known.found
    check_suite(known, suite)
    for slug in config.models:
        if config.is_import(slug):
            _check_imports(known, slug, suite)
    for name in config.benchmarks:
        _check_benchmark(known, name, suite.of(f"config/benchmarks/{name}.yaml"))
    for name, tables in config.tables.items():
        notes = suite.of(config.suite.benchmarks[name].tables)
        if tables.benchmark != name:
            notes.at("benchmark").say(f"found '{tables.benchmark}', expected '{name}' as in {suite.file}.")
        for number, spec in tables.tables.items():
            _check_rows(known, spec, name, notes.at(f"tables.{number}"))
            if name in config.benchmarks:
                _check_columns(known, spec, name, notes.at(f"tables.{number}"))
        if tables.overview is not None and name in config.benchmarks:
            _check_overview(known, tables.overview, name, notes, suite)
    for name, figures in config.figures.items():
        if name in config.benchmarks and name in config.tables:
            _check_figures(known, figures, name, suite.of(str(config.suite.benchmarks[name].figures)))


# Tables


def _check_overview(known: Known, part: Overview, benchmark: str, notes: Notes, suite: Notes) -> None:
    """Check a benchmark's part of the overview, and whether the models of the suite can answer it."""
    spec = TableSpec(title="", caption="", columns=part.columns, sections=[Section(rows=[Row(label="-")])])
    _check_columns(known, spec, benchmark, notes.at("overview"))
    protocols = known.found.benchmarks[benchmark].protocols
    notes.at("overview.protocol").expect("protocol", [part.protocol], protocols)
    notes.at("overview.sampling").say(*known.samplings([part.sampling]))
    overview = known.found.overview_of(benchmark) if part.protocol in protocols else None
    for row in overview.rows() if overview else ():
        reasons = _cell_problems(known, row, part.columns[0], benchmark) if row.model in known.found.models else []
        suite.at(f"overview: '{row.model}'").say(*(f"{benchmark}: {reason}" for reason in reasons))


def _check_rows(known: Known, spec: TableSpec, benchmark: str, notes: Notes) -> None:
    # Columns with the same model, protocol and samplings have the same problems.
    distinct_columns = {(c.model, c.protocol, c.sampling, c.ratio and c.ratio.over): c for c in spec.columns}.values()
    for row in spec.rows():
        for column in distinct_columns:
            notes.at(f": row '{row.label}'").say(*_cell_problems(known, row, column, benchmark))


def _cell_problems(known: Known, row: Row, column: Column, benchmark: str) -> list[str]:
    cell = row.in_column(column)
    if cell.model is None or row.dataset or row.chance:
        return []
    if cell.protocol is None or cell.sampling is None:
        return ["names a model, so it (or its section) must name a protocol and a sampling too."]
    reasons = known.run(f"{cell.protocol}/{cell.sampling}/{cell.model}", benchmark) + known.models(row.judges)
    return reasons + (known.samplings([column.ratio.over]) if column.ratio else [])


def _check_columns(known: Known, spec: TableSpec, benchmark: str, notes: Notes) -> None:
    metrics = known.metrics(benchmark)
    for column in spec.columns:
        column_notes = notes.at(f": column '{column.title}'")
        column_notes.expect("metric", [column.ratio.metric] if column.ratio else spec.metrics_of(column), metrics)
        if column.shows == "metrics" and not spec.metrics_of(column):
            column_notes.say("names no metric, and neither does its table.")
    groups = {c.group for c in spec.columns} | {row.group for row in spec.rows()} | {spec.compared_with}
    notes.expect("group", sorted(filter(None, groups)), known.groups(benchmark))


def _check_benchmark(known: Known, name: str, notes: Notes) -> None:
    """Check the names that a benchmark's module and its prompts define: forms, prompts and metrics."""
    if name not in benchmark_names():
        notes.expect("benchmark", [name], benchmark_names())
        return
    benchmark, forms, judged_forms = known.found.benchmarks[name], load_scores(name).SCORES, load_answers(name)
    prompts = load_prompts(located(benchmark.prompts, known.root))
    for key, protocol in benchmark.protocols.items():
        protocol_notes = notes.at(f"protocols.{key}")
        protocol_notes.at(".form").expect("form", [protocol.form], forms.keys() & load_questions(name).FORMS.keys())
        protocol_notes.at(".prompt").expect("prompt", [protocol.prompt], prompts)
        protocol_notes.at(".judge").expect("prompt", [protocol.judge] if protocol.judge else [], prompts)
        if protocol.form in forms:
            protocol_notes.at(".frames_min").expect("metric", protocol.frames_min, forms[protocol.form].metrics)
        if protocol.judge_reads == "unread":  # A judge can only extract an option from a textual answer.
            if protocol.judge is None:
                protocol_notes.at(".judge_reads").say(
                    "no prompt by which a model reads what is left unread. Name one in `judge:`."
                )
            if protocol.ask not in ("choose", "write") or protocol.reading == "text":
                protocol_notes.at(".judge_reads").say(
                    f"answers of `ask: {protocol.ask}`, `reading: {protocol.reading}` choose no option in words. "
                    "Write `judge_reads: all`."
                )
        elif protocol.judge is not None and protocol.form in forms and protocol.form not in judged_forms:
            advice = f"Forms whose answers can be: {', '.join(judged_forms) or 'none'}."
            protocol_notes.at(".judge").say(f"answers to form '{protocol.form}' cannot be judged. {advice}")
        if protocol.answers_of is not None:
            referenced = benchmark.protocols.get(protocol.answers_of, protocol)
            fields = [
                field for field in ("form", "prompt", "ask") if getattr(protocol, field) != getattr(referenced, field)
            ]
            protocol_notes.at(".answers_of").expect("protocol", [protocol.answers_of], benchmark.protocols)
            if fields:
                message = f"'{protocol.answers_of}' asks another question"
                protocol_notes.at(".answers_of").say(f"{message}: {', '.join(fields)} differ.")


# Figures


def _check_figures(known: Known, figures: Figures, benchmark: str, notes: Notes) -> None:
    if figures.benchmark != benchmark:
        notes.at("benchmark").say(f"found '{figures.benchmark}', expected '{benchmark}' as in the suite.")
        return
    tables = known.found.tables[benchmark].tables
    for name, figure in figures.figures.items():
        figure_notes = notes.at(f"figures.{name}")
        figure_notes.at(".table").expect("table", figure.tables(), tables)
        if isinstance(figure, Distribution):
            groups = [entry.group for entry in (*(figure.groups or ()), *figure.beside)] + list(
                filter(None, [figure.group])
            )
            figure_notes.at(".groups").expect("group", groups, known.groups(benchmark))
            continue
        for part in figure.of:
            if part.table in tables:
                _check_part(known, part, tables[part.table], benchmark, figure_notes.at(f": {part.table}"))


def _check_part(known: Known, part: Part, spec: TableSpec, benchmark: str, notes: Notes) -> None:
    allowed = {
        "section": [section.title or '""' for section in spec.sections],
        "row": [row.label for section in spec.sections for row in section.rows],
        "metric": [metric for column in spec.columns for metric in spec.metrics_of(column)],
    }
    selections = {"section": [title or '""' for title in part.sections], "row": part.rows, "metric": part.metrics}
    for kind, names in selections.items():
        notes.at(f".{kind}s").expect(kind, names, dict.fromkeys(allowed[kind]))
    column_notes, columns = notes.at(".columns"), part.columns or ()
    column_notes.expect(
        "metric", [column.metric for column in columns if column.metric is not None], known.metrics(benchmark)
    )
    column_notes.expect("group", [column.group for column in columns], known.groups(benchmark))
    if not spec.metrics:
        unnamed = [column.title for column in columns if column.metric is None]
        column_notes.say(*(f"column '{title}' names no metric, and neither does its table." for title in unnamed))
    if not part.of(spec).sections:
        notes.say("no row of its sections is left. Name rows of these sections.")


# Models with imported predictions


def _check_imports(known: Known, slug: str, suite: Notes) -> None:
    """Note runs that no suite can have, and folders outside the model's own folder."""
    settings, place = known.found.imports(slug), slug if slug in known.found.external else "settings"
    for key, runs, parts in (("runs", settings.runs, 3), ("ratings", settings.ratings, 4)):
        notes = suite.of(known.found.file_of(slug)).at(f"{place}.{key}")
        for run, folder in runs.items():
            base = imports_of(run.split("/")[0], slug)
            outside = [f"'{folder}' is not inside {base}."] if folder != "." and inside(base, folder) is None else []
            notes.say(*(f"'{run}': {problem}" for problem in (*_run_problems(known, run.split("/"), parts), *outside)))


def _run_problems(known: Known, names: list[str], parts: int) -> Iterator[str]:
    """Yield problems of a name of a run, or of a run and its judge."""
    if len(names) != parts:
        yield f"a run is named {'/'.join(RUN_NAME.split('/')[:parts])}."
        return
    benchmark, protocol, sampling, *judges = names
    spec = known.found.benchmarks.get(benchmark)  # It is None if the suite does not have the benchmark.
    unknown = unknown_name("protocol", protocol, spec.protocols) if spec else []
    yield from (*unknown, *known.samplings([sampling]), *known.models(judges))
    if not has_importer(benchmark) or (spec and not unknown):
        yield from form_problems(benchmark, spec.protocols[protocol].form if spec else "")
    if judges and has_importer(benchmark) and load_rating_importer(benchmark) is None:
        yield f"answers to '{benchmark}' are not rated by a judge."
