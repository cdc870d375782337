"""Check tables, figures, benchmarks and imports against names that other files or the benchmarks' modules define."""

from collections.abc import Iterator

from reprise.benchmarks.prompts import load_prompts
from reprise.benchmarks.registry import benchmark_names, load_answers, load_questions, load_scores
from reprise.config.figures import Distribution, Figures, Part
from reprise.config.name_checks import NameChecks, find_form_problems
from reprise.config.problems import ProblemNotes, find_unknown_name
from reprise.config.suite_checks import check_suite
from reprise.config.tables import Column, Overview, Row, Section, TableSpec
from reprise.core.files import resolve_inside
from reprise.core.paths import RUN_NAME, locate
from reprise.external import get_imports_folder, has_importer, load_rating_importer


def check(name_checks: NameChecks, suite_notes: ProblemNotes) -> None:
    """Note every problem of the configuration that involves more than one file."""
    config = name_checks.configuration
    check_suite(name_checks, suite_notes)
    for slug in config.models:
        if config.is_import(slug):
            _check_imports(name_checks, slug, suite_notes)
    for name in config.benchmarks:
        _check_benchmark(name_checks, name, suite_notes.for_file(f"config/benchmarks/{name}.yaml"))
    for name, tables in config.tables.items():
        notes = suite_notes.for_file(config.suite.benchmarks[name].tables)
        if tables.benchmark != name:
            notes.at_key("benchmark").add(f"found '{tables.benchmark}', expected '{name}' as in {suite_notes.file}.")
        for number, spec in tables.tables.items():
            _check_rows(name_checks, spec, name, notes.at_key(f"tables.{number}"))
            if name in config.benchmarks:
                _check_columns(name_checks, spec, name, notes.at_key(f"tables.{number}"))
        if tables.overview is not None and name in config.benchmarks:
            _check_overview(name_checks, tables.overview, name, notes, suite_notes)
    for name, figures in config.figures.items():
        if name in config.benchmarks and name in config.tables:
            _check_figures(name_checks, figures, name, suite_notes.for_file(str(config.suite.benchmarks[name].figures)))


# Tables


def _check_overview(
    name_checks: NameChecks, part: Overview, benchmark: str, notes: ProblemNotes, suite_notes: ProblemNotes
) -> None:
    """Check a benchmark's part of the overview, and whether the models of the suite can answer it."""
    # The columns are checked as those of a table, which needs a row.
    spec = TableSpec(title="", caption="", columns=part.columns, sections=[Section(rows=[Row(label="-")])])
    _check_columns(name_checks, spec, benchmark, notes.at_key("overview"))
    protocols = name_checks.configuration.benchmarks[benchmark].protocols
    notes.at_key("overview.protocol").check_names("protocol", [part.protocol], protocols)
    alternative = [part.protocol_without_scores] if part.protocol_without_scores else []
    notes.at_key("overview.protocol_without_scores").check_names("protocol", alternative, protocols)
    notes.at_key("overview.sampling").add(*name_checks.sampling_problems([part.sampling]))
    has_valid_protocols = {part.protocol, *alternative} <= protocols.keys()
    overview = name_checks.configuration.get_overview(benchmark) if has_valid_protocols else None
    if overview is None:
        return
    for row in overview.rows():
        if row.model in name_checks.configuration.models:
            reasons = _cell_problems(name_checks, row, part.columns[0], benchmark)
            suite_notes.at_key(f"overview: '{row.model}'").add(*(f"{benchmark}: {reason}" for reason in reasons))


def _check_rows(name_checks: NameChecks, spec: TableSpec, benchmark: str, notes: ProblemNotes) -> None:
    """Note the problems of the runs that the rows of a table show."""
    # Columns with the same model, protocol and samplings cause the same problems, so one of them is checked.
    columns_by_overrides = {
        (column.model, column.protocol, column.sampling, column.ratio and column.ratio.over): column
        for column in spec.columns
    }
    for row in spec.rows():
        for column in columns_by_overrides.values():
            notes.at_key(f": row '{row.label}'").add(*_cell_problems(name_checks, row, column, benchmark))


def _cell_problems(name_checks: NameChecks, row: Row, column: Column, benchmark: str) -> list[str]:
    """Return the problems of the runs that a cell shows; none if it shows no run."""
    cell = row.for_column(column)
    if cell.model is None or row.dataset or row.chance:
        return []
    if cell.protocol is None or cell.sampling is None:
        return ["has a model, so it (or its section) needs a protocol and a sampling too."]
    reasons = name_checks.run_problems(
        f"{cell.protocol}/{cell.sampling}/{cell.model}", benchmark
    ) + name_checks.model_problems(row.judges)
    return reasons + (name_checks.sampling_problems([column.ratio.over]) if column.ratio else [])


def _check_columns(name_checks: NameChecks, spec: TableSpec, benchmark: str, notes: ProblemNotes) -> None:
    """Note unknown metrics and groups of a table's columns and rows."""
    metrics = name_checks.metrics(benchmark)
    for column in spec.columns:
        column_notes = notes.at_key(f": column '{column.title}'")
        column_notes.check_names(
            "metric", [column.ratio.metric] if column.ratio else spec.list_metrics(column), metrics
        )
        if column.shows == "metrics" and not spec.list_metrics(column):
            column_notes.add("names no metric, and neither does its table.")
    group_names = {c.group for c in spec.columns} | {row.group for row in spec.rows()} | {spec.compared_with}
    notes.check_names("group", sorted(filter(None, group_names)), name_checks.groups(benchmark))


def _check_benchmark(name_checks: NameChecks, name: str, notes: ProblemNotes) -> None:
    """Check the names that a benchmark's module and its prompts define: forms, prompts and metrics."""
    if name not in benchmark_names():
        notes.check_names("benchmark", [name], benchmark_names())
        return
    benchmark = name_checks.configuration.benchmarks[name]
    forms, judged_forms = load_scores(name).SCORES, load_answers(name)
    prompts = load_prompts(locate(benchmark.prompts, name_checks.root))
    notes.at_key("protocol_titles").check_names("protocol", benchmark.protocol_titles, benchmark.protocols)
    for key, protocol in benchmark.protocols.items():
        protocol_notes = notes.at_key(f"protocols.{key}")
        protocol_notes.at_key(".form").check_names(
            "form", [protocol.form], forms.keys() & load_questions(name).FORMS.keys()
        )
        protocol_notes.at_key(".prompt").check_names("prompt", [protocol.prompt], prompts)
        protocol_notes.at_key(".judge").check_names("prompt", [protocol.judge] if protocol.judge else [], prompts)
        if protocol.form in forms:
            protocol_notes.at_key(".frames_min").check_names(
                "metric", protocol.frames_min, forms[protocol.form].metrics
            )
        if protocol.judge_scope == "unparsed":  # A judge can extract an option only from an answer in words.
            if protocol.judge is None:
                protocol_notes.at_key(".judge_scope").add(
                    "needs a prompt for the judge of unparsed responses. Set `judge:` to the name of a prompt."
                )
            if protocol.request_type not in ("choose", "write") or protocol.extraction == "text":
                protocol_notes.at_key(".judge_scope").add(
                    f"responses with `request_type: {protocol.request_type}` and `extraction: {protocol.extraction}` "
                    "contain no option in words. Set `judge_scope: all`."
                )
        elif protocol.judge is not None and protocol.form in forms and protocol.form not in judged_forms:
            advice = f"Forms that can be judged: {', '.join(judged_forms) or 'none'}."
            protocol_notes.at_key(".judge").add(f"responses to form '{protocol.form}' cannot be judged. {advice}")
        if protocol.responses_from is not None:
            # An unknown protocol is compared with nothing: `protocol` stands in for it and differs in no field; only
            # its name is noted below.
            referenced = benchmark.protocols.get(protocol.responses_from, protocol)
            differing_fields = [
                field
                for field in ("form", "prompt", "request_type")
                if getattr(protocol, field) != getattr(referenced, field)
            ]
            protocol_notes.at_key(".responses_from").check_names(
                "protocol", [protocol.responses_from], benchmark.protocols
            )
            if differing_fields:
                message = f"'{protocol.responses_from}' has different requests"
                protocol_notes.at_key(".responses_from").add(f"{message}: {', '.join(differing_fields)} differ.")


# Figures


def _check_figures(name_checks: NameChecks, figures: Figures, benchmark: str, notes: ProblemNotes) -> None:
    """Note unknown tables, groups, rows and metrics of the figures of a benchmark."""
    if figures.benchmark != benchmark:
        notes.at_key("benchmark").add(f"found '{figures.benchmark}', expected '{benchmark}' as in the suite.")
        return
    tables = name_checks.configuration.tables[benchmark].tables
    for name, figure in figures.figures.items():
        figure_notes = notes.at_key(f"figures.{name}")
        figure_notes.at_key(".table").check_names("table", figure.tables(), tables)
        if isinstance(figure, Distribution):
            groups = [counted.group for counted in (*(figure.groups or ()), *figure.extra_panels)]
            groups += [figure.group] if figure.group else []
            figure_notes.at_key(".groups").check_names("group", groups, name_checks.groups(benchmark))
            continue
        for part in figure.of:
            if part.table in tables:
                _check_part(name_checks, part, tables[part.table], benchmark, figure_notes.at_key(f": {part.table}"))


def _check_part(name_checks: NameChecks, part: Part, spec: TableSpec, benchmark: str, notes: ProblemNotes) -> None:
    """Note names that a figure's part selects although its table (`spec`) does not have them."""
    allowed_names = {
        "section": [section.title or '""' for section in spec.sections],
        "row": [row.label for section in spec.sections for row in section.rows],
        "metric": [metric for column in spec.columns for metric in spec.list_metrics(column)],
    }
    selections = {"section": [title or '""' for title in part.sections], "row": part.rows, "metric": part.metrics}
    for kind, names in selections.items():
        notes.at_key(f".{kind}s").check_names(kind, names, dict.fromkeys(allowed_names[kind]))
    column_notes, columns = notes.at_key(".columns"), part.columns or ()
    column_notes.check_names(
        "metric", [column.metric for column in columns if column.metric is not None], name_checks.metrics(benchmark)
    )
    column_notes.check_names("group", [column.group for column in columns], name_checks.groups(benchmark))
    if not spec.metrics:
        unnamed = [column.title for column in columns if column.metric is None]
        column_notes.add(*(f"column '{title}' names no metric, and neither does its table." for title in unnamed))
    if not part.select(spec).sections:
        notes.add("no row matches `sections`, `rows` and `frames` together. Name rows of these sections.")


# Models with imported predictions


def _check_imports(name_checks: NameChecks, slug: str, suite_notes: ProblemNotes) -> None:
    """Note invalid names of runs with imported predictions or ratings, and folders outside the model's own folder."""
    config = name_checks.configuration
    settings = config.get_import_settings(slug)
    prefix = slug if slug in config.external_models else "settings"
    # `runs:` names <benchmark>/<protocol>/<sampling>; `ratings:` also names the model that is rated.
    for key, runs, part_count in (("runs", settings.runs, 3), ("ratings", settings.ratings, 4)):
        notes = suite_notes.for_file(config.model_file(slug)).at_key(f"{prefix}.{key}")
        for run, folder in runs.items():
            base = get_imports_folder(run.split("/")[0], slug)
            path_problems = (
                [f"'{folder}' is not inside {base}."] if folder != "." and resolve_inside(base, folder) is None else []
            )
            name_problems = _run_problems(name_checks, run.split("/"), part_count)
            notes.add(*(f"'{run}': {problem}" for problem in (*name_problems, *path_problems)))


def _run_problems(name_checks: NameChecks, names: list[str], part_count: int) -> Iterator[str]:
    """Yield the problems of a run's name; `names` are its parts, of which there should be `part_count`."""
    if len(names) != part_count:
        yield f"should have the form {'/'.join(RUN_NAME.split('/')[:part_count])}."
        return
    benchmark, protocol, sampling, *rated_models = names
    spec = name_checks.configuration.benchmarks.get(benchmark)  # It is None if the suite does not have the benchmark.
    protocol_problems = find_unknown_name("protocol", protocol, spec.protocols) if spec else []
    yield from (
        *protocol_problems,
        *name_checks.sampling_problems([sampling]),
        *name_checks.model_problems(rated_models),
    )
    if not has_importer(benchmark):
        yield from find_form_problems(benchmark, "")  # The form does not matter.
    elif spec and not protocol_problems:
        yield from find_form_problems(benchmark, spec.protocols[protocol].form)
    if rated_models and has_importer(benchmark) and load_rating_importer(benchmark) is None:
        yield f"benchmark '{benchmark}' has no ratings by a judge."
