"""What no file of the configuration can know alone: names that other files, and the benchmarks' modules, define."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reprise.benchmarks.prompts import load_prompts
from reprise.benchmarks.registry import benchmark_names, form_problems, load_answers, load_scores, load_statistics
from reprise.config.external import import_problems, is_import
from reprise.config.schema import Column, Configuration, Model, Protocol, Row, TableSpec
from reprise.core.errors import UserError, suggestion, unknown
from reprise.media import sampling
from reprise.models.adapters import ADAPTERS


def cross_checks(found: Configuration, suite_file: str) -> list[str]:
    """What no file can know alone: names that other files define."""
    problems = [
        f"config/config.yaml: samplings.{name}: {reason}"
        for name, rule in found.main.samplings.items()
        for reason in _rule_problems(rule)
    ]
    for slug, model in found.models.items():
        reasons = _model_problems(model) + (import_problems(slug, model, found) if is_import(model) else [])
        problems += [f"config/models/{slug}.yaml: {reason}" for reason in reasons]
    for term in found.suite.run:
        if isinstance(term, str) and term not in {"local", "none", "all", *found.models}:
            allowed = ["local", "none", "all", *sorted(found.models)]
            problems.append(f"{suite_file}: run: unknown model '{term}'.{suggestion(term, allowed)}")
    judges = [("judges", judge) for judge in found.suite.judges]
    for name, entry in found.suite.benchmarks.items():
        judges += [(f"benchmarks.{name}.judges", judge) for judge in entry.judges or []]
    for place, judge in judges:
        problems += [f"{suite_file}: {place}: {reason}" for reason in _judge_problems(judge, found)]
    for name, entry in found.suite.benchmarks.items():
        problems += [
            f"{suite_file}: benchmarks.{name}.also: '{run}': {problem}"
            for run in entry.also
            for problem in _name_problems(run, name, found)
        ]
    for name, tables in found.tables.items():
        file = found.suite.benchmarks[name].tables
        if tables.benchmark != name:
            problems.append(f"{file}: benchmark: found '{tables.benchmark}', expected '{name}' as in {suite_file}.")
        for number, spec in tables.tables.items():
            for row in spec.rows():
                reasons = [reason for column in spec.columns for reason in _run_problems(row, column, name, found)]
                problems += [f"{file}: tables.{number}: row '{row.label}': {p}" for p in dict.fromkeys(reasons)]
    return problems


def benchmark_problems(found: Configuration, root: Path) -> list[str]:
    """Names that a benchmark's module and its prompts define: forms, prompts, metrics, groups."""
    problems: list[str] = []
    for name, spec in found.benchmarks.items():
        file = f"config/benchmarks/{name}.yaml"
        if name not in benchmark_names():
            problems.append(str(unknown("benchmark", name, benchmark_names(), file)))
            continue
        problems += form_problems(name)
        forms = load_scores(name).SCORES
        prompts = load_prompts(root / spec.prompts)
        for protocol, settings in spec.protocols.items():
            named = [("form", settings.form, forms), ("prompt", settings.prompt, prompts)]
            if settings.judge is not None:
                named.append(("judge", settings.judge, prompts))
            for what, value, allowed in named:
                if value not in allowed:
                    problems.append(str(unknown(what, value, allowed, f"{file}: protocols.{protocol}.{what}")))
            metrics = forms[settings.form].metrics if settings.form in forms else frozenset(settings.frames_min)
            for metric in set(settings.frames_min) - metrics:
                problems.append(str(unknown("metric", metric, metrics, f"{file}: protocols.{protocol}.frames_min")))
            judged = load_answers(name)
            if settings.judge is not None and settings.form in forms and settings.form not in judged:
                problems.append(
                    f"{file}: protocols.{protocol}.judge: answers to form '{settings.form}' are not put to a judge. "
                    f"Forms whose answers are: {', '.join(judged) or 'none'}."
                )
        if name in found.tables:
            tables_file = found.suite.benchmarks[name].tables
            for table, table_spec in found.tables[name].tables.items():
                problems += [
                    f"{tables_file}: tables.{table}: {p}" for p in _column_problems(table_spec, name, spec.groups)
                ]
    return problems


def _column_problems(spec: TableSpec, benchmark: str, more_groups: Sequence[str]) -> list[str]:
    scores = load_scores(benchmark)
    known_groups = (*scores.GROUPS, *more_groups)
    metrics = {name for one in scores.SCORES.values() for name in one.metrics} | load_statistics(benchmark).metrics
    named = [(column, metric) for column in spec.columns for metric in measured_metrics(spec, column)]
    problems = [
        f"column '{column.title}': unknown metric '{metric}'.{suggestion(metric, metrics)} "
        f"Allowed: {', '.join(sorted(metrics))}."
        for column, metric in named
        if metric not in metrics
    ]
    problems += [
        f"column '{c.title}': names no metric, and neither does its table."
        for c in spec.columns
        if c.shows == "metrics" and not spec.metrics_of(c)
    ]
    groups = {c.group for c in spec.columns} | {row.group for row in spec.rows()} | {spec.compared_with}
    return problems + [
        f"unknown group '{group}'.{suggestion(group, known_groups)} Allowed: {', '.join(known_groups)}."
        for group in sorted({group for group in groups if group} - set(known_groups))
    ]


def measured_metrics(spec: TableSpec, column: Column) -> list[str]:
    """The metrics of a benchmark that a column shows; a ratio's own name is the csv's of published numbers."""
    return [column.ratio.metric] if column.ratio else spec.metrics_of(column)


def _rule_problems(rule: dict[str, Any]) -> list[str]:
    try:
        sampling.check(rule)
    except UserError as error:
        return [str(error)]
    return []


def _model_problems(model: Model) -> list[str]:
    if model.adapter not in ADAPTERS:
        hint = suggestion(model.adapter, ADAPTERS)
        return [f"adapter: unknown adapter '{model.adapter}'.{hint} Allowed: {', '.join(sorted(ADAPTERS))}."]
    adapter = ADAPTERS[model.adapter]
    head = model.settings.get("head")
    if adapter.heads and head is not None and head not in adapter.heads:
        return [f"settings.head: unknown head '{head}'. Allowed: {', '.join(sorted(adapter.heads))}."]
    if not adapter.needs_weights:
        return []
    if (model.checkpoint is None) == (model.repo is None):
        return ["say either checkpoint (a local folder) or repo (a hub id), and not both."]
    if model.repo is not None and model.revision is None:
        return ["revision: missing; write `unpinned` and run `python -m reprise pin` to resolve it."]
    return []


def _run_problems(row: Row, column: Column, benchmark: str, found: Configuration) -> list[str]:
    place = row.under(column)
    if place.model is None or row.dataset or row.chance:
        return []
    if place.protocol is None or place.sampling is None:
        return ["names a model, so it (or its section) must name a protocol and a sampling too."]
    problems = _name_problems(f"{place.protocol}/{place.sampling}/{place.model}", benchmark, found)
    if row.judge is not None and row.judge not in found.models:
        problems.append(str(unknown("model", row.judge, found.models, "judge")))
    if column.ratio is not None and column.ratio.over not in found.main.samplings:
        problems.append(str(unknown("sampling", column.ratio.over, found.main.samplings, "ratio.over")))
    return problems


def _name_problems(run: str, benchmark: str, found: Configuration) -> list[str]:
    protocol, sampling, model = run.split("/")
    spec = found.benchmarks.get(benchmark)
    checks = [
        ("model", model, list(found.models)),
        ("protocol", protocol, list(spec.protocols) if spec else [protocol]),
        ("sampling", sampling, list(found.main.samplings)),
    ]
    problems = [
        f"unknown {what} '{value}'.{suggestion(value, allowed)} Allowed: {', '.join(sorted(allowed))}."
        for what, value, allowed in checks
        if value not in allowed
    ]
    if problems or spec is None:
        return problems
    return [
        *_import_run_problems(f"{benchmark}/{protocol}/{sampling}", model, found),
        *_ask_problems(found.models[model], spec.protocols[protocol]),
        *_frames_problems(found.models[model], sampling, found.main.samplings[sampling]),
    ]


def _import_run_problems(run: str, slug: str, found: Configuration) -> list[str]:
    """A run of an imported model that its file does not list."""
    if not is_import(found.models[slug]):
        return []
    listed = found.models[slug].settings.get("runs", {})
    if run in listed:
        return []
    return [
        f"model '{slug}' is imported, but settings.runs of config/models/{slug}.yaml does not list '{run}'. "
        f"Listed: {', '.join(listed) or 'nothing'}."
    ]


def _ask_problems(model: Model, protocol: Protocol) -> list[str]:
    """A model that cannot give what a protocol asks for."""
    adapter = ADAPTERS.get(model.adapter)
    if adapter is None or protocol.ask in adapter.asked(model.settings):
        return []
    given = ", ".join(adapter.asked(model.settings))
    return [f"the protocol asks for '{protocol.ask}', adapter '{model.adapter}' gives {given}."]


def _frames_problems(model: Model, name: str, rule: dict[str, Any]) -> list[str]:
    """A model that must see frames and is shown none, or one without eyes that is shown some."""
    adapter = ADAPTERS.get(model.adapter)
    wanted = "shown" if adapter is None else adapter.frames
    is_blind = rule.get("rule") == "none"
    if wanted == "needed" and is_blind:
        return [f"{model.adapter} needs frames, sampling '{name}' shows none. Name a sampling of another rule."]
    if wanted == "never" and not is_blind:
        return [f"adapter '{model.adapter}' sees no frames, sampling '{name}' shows some. Say `sampling: none`."]
    return []


def _judge_problems(judge: str, found: Configuration) -> list[str]:
    """A judge must exist, and must write."""
    if judge not in found.models:
        names = sorted(found.models)
        return [f"unknown model '{judge}'.{suggestion(judge, names)} Allowed: {', '.join(names)}."]
    model = found.models[judge]
    adapter = ADAPTERS.get(model.adapter)
    if adapter is None or "write" in adapter.asked(model.settings):
        return []
    return [f"'{judge}' cannot judge: adapter '{model.adapter}' gives {', '.join(adapter.asked(model.settings))}."]
