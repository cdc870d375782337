"""Checks across files: names that other files, or the benchmarks' modules, define."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.benchmarks.prompts import load_prompts
from reprise.benchmarks.registry import benchmark_names, load_answers, load_scores, load_statistics, unmatched_forms
from reprise.config.benchmark import Benchmark, Protocol
from reprise.config.configuration import Configuration
from reprise.config.construction_checks import construction_problems
from reprise.config.figure_checks import figure_problems
from reprise.config.imported import folder_problems, form_problems
from reprise.config.model import Model
from reprise.config.people_checks import design_problems, file_problems, named_runs
from reprise.config.problems import Problems
from reprise.config.stand_in import stand_in_problems
from reprise.config.tables import Column, Overview, Row, Section, TableSpec
from reprise.config.unfiltered import static_filters
from reprise.core.errors import choices
from reprise.models.adapters import ADAPTERS

TERMS = ("local", "none", "all")


@dataclass
class Checks:
    """The checks across files. A problem that only follows from a file with problems is not reported."""

    found: Configuration
    unreadable: Collection[str]
    """models and benchmarks whose files have problems"""
    suite_file: str
    problems: Problems

    def run(self, root: Path) -> None:
        """Note all problems."""
        self._suite()
        for place, reason in construction_problems(self.found, self.unreadable, root):
            self.problems.add(self.suite_file, f"benchmarks.{place}", reason)
        for place, reason in file_problems(self.found, root):
            self.problems.add(self.suite_file, f"benchmarks.{place}", reason)
        for slug in self.found.models:
            place = slug if slug in self.found.external else "settings"
            for key, reason in folder_problems(slug, self.found, self.unreadable) if self.found.is_import(slug) else ():
                self.problems.add(self.found.file_of(slug), f"{place}.{key}", reason)
        for name, benchmark in self.found.benchmarks.items():
            self._benchmark(name, benchmark, root)
        for name, tables in self.found.tables.items():
            file = self.found.suite.benchmarks[name].tables
            if tables.benchmark != name:
                reason = f"found '{tables.benchmark}', expected '{name}' as in {self.suite_file}."
                self.problems.add(file, "benchmark", reason)
            for number, spec in tables.tables.items():
                self._rows(file, f"tables.{number}", spec, name)
                if name in self.found.benchmarks:
                    self._columns(file, f"tables.{number}", spec, name)
            if tables.overview is not None and name in self.found.benchmarks:
                self._overview_part(file, tables.overview, name)

        for name, figures in self.found.figures.items():
            if name in self.found.benchmarks and name in self.found.tables:
                file = str(self.found.suite.benchmarks[name].figures)
                groups = self.found.benchmarks[name].groups
                for place, reason in figure_problems(figures, self.found.tables[name], [*groups]):
                    self.problems.add(file, place, reason)

    def _add(self, file: str, place: str, reasons: Sequence[str]) -> None:
        for reason in reasons:
            self.problems.add(file, place, reason)

    def _suite(self) -> None:
        suite = self.found.suite
        for term in suite.run:
            if isinstance(term, str):
                reasons = _unknown("model", term, [*TERMS, *self.found.models, *self.unreadable])
                self._add(self.suite_file, "run", [f"{one} Also: {', '.join(TERMS)}, {{gpus: N}}." for one in reasons])
        self._add(self.suite_file, "skip", [one for slug in suite.skip for one in self._unknown_model(slug)])
        self._add(self.suite_file, "judges", [one for judge in suite.judges for one in self._judge(judge)])
        self._add(self.suite_file, "stand_in", stand_in_problems(self.found, self.unreadable))
        for name, how in static_filters(self.found).items():
            place = f"benchmarks.{name}.construction.static"
            self._add(
                self.suite_file, place, list(dict.fromkeys(one for run in how.runs() for one in self._run(run, name)))
            )
        for name, entry in suite.benchmarks.items():
            reasons = [one for judge in entry.judges or [] for one in self._judge(judge)]
            self._add(self.suite_file, f"benchmarks.{name}.judges", reasons)
            for run in entry.extra_runs:
                place = f"benchmarks.{name}.extra_runs: '{run}'"
                self._add(self.suite_file, place, self._run(run, name))
            for group, design in entry.people.items():
                place = f"benchmarks.{name}.people.{group}"
                for key, run in named_runs(design):
                    self._add(self.suite_file, f"{place}.{key}", self._run(run, name))
                for key, reason in design_problems(self.found, name, group):
                    self.problems.add(self.suite_file, f"{place}.{key}", reason)

        self._overview_lines()

    def _overview_lines(self) -> None:
        lines = self.found.suite.overview_lines()
        named = Counter(line.model for line in lines)
        for line in lines:
            reasons = self._unknown_model(line.model)
            if named[line.model] > 1:
                reasons.append("named twice; a model has one line.")
            for benchmark in {*(line.benchmarks or ()), *line.samplings}:
                tables = self.found.tables.get(benchmark)
                reasons += _unknown("benchmark", benchmark, self.found.suite.benchmarks)
                if tables is not None and tables.overview is None:
                    reasons.append(f"{benchmark} has no part in the overview.")
            for sampling in line.samplings.values():
                reasons += self.found.main.sampling_problems(sampling)
            self._add(self.suite_file, f"overview: '{line.model}'", reasons)

    def _overview_part(self, file: str, part: Overview, benchmark: str) -> None:
        """What a benchmark shows in the overview, and whether the models of the suite can be asked that."""
        row = Row(label="-", protocol=part.protocol, sampling=part.sampling)
        spec = TableSpec(title="", caption="", columns=part.columns, sections=[Section(rows=[row])])
        self._columns(file, "overview", spec, benchmark)
        protocols = self.found.benchmarks[benchmark].protocols
        self._add(file, "overview.protocol", _unknown("protocol", part.protocol, protocols))
        self._add(file, "overview.sampling", self.found.main.sampling_problems(part.sampling))
        shown = self.found.overview_of(benchmark)
        for row in shown.rows() if shown else ():
            if row.model in self.found.models and part.protocol in protocols:
                reasons = self._cell(row, part.columns[0], benchmark)
                self._add(self.suite_file, f"overview: '{row.model}'", [f"{benchmark}: {one}" for one in reasons])

    def _judge(self, judge: str) -> list[str]:
        """A judge must exist, and must be able to write."""
        model = self.found.models.get(judge)
        if model is None:
            return self._unknown_model(judge)
        asked = ADAPTERS[model.adapter].asked(model.settings)
        if "write" in asked:
            return []
        return [f"'{judge}' cannot judge: adapter '{model.adapter}' gives {', '.join(asked)}."]

    def _unknown_model(self, name: str) -> list[str]:
        return _unknown("model", name, [*self.found.models, *self.unreadable])

    def _run(self, run: str, benchmark: str) -> list[str]:
        """The names of a run must exist, and its model must be able to answer it."""
        protocol, sampling, model = run.split("/")
        spec, known = self.found.benchmarks.get(benchmark), self.found.models.get(model)
        samplings = self.found.main.samplings
        reasons = [
            *self._unknown_model(model),
            *(_unknown("protocol", protocol, spec.protocols) if spec else []),
            *self.found.main.sampling_problems(sampling),
        ]
        if reasons or spec is None or known is None:
            return reasons
        asked = spec.protocols[protocol]
        if self.found.is_import(model):
            return form_problems(benchmark, asked.form)
        return [*_ask_problems(known, asked), *_frames_problems(known, sampling, samplings[sampling])]

    # --- tables --------------------------------------------------------------------------------------------------

    def _rows(self, file: str, place: str, spec: TableSpec, benchmark: str) -> None:
        for row in spec.rows():
            for column in spec.columns:
                self._add(file, f"{place}: row '{row.label}'", self._cell(row, column, benchmark))

    def _cell(self, row: Row, column: Column, benchmark: str) -> list[str]:
        cell = row.in_column(column)
        if cell.model is None or row.dataset or row.chance:
            return []
        if cell.protocol is None or cell.sampling is None:
            return ["names a model, so it (or its section) must name a protocol and a sampling too."]
        reasons = self._run(f"{cell.protocol}/{cell.sampling}/{cell.model}", benchmark)
        reasons += [reason for judge in row.judges for reason in self._unknown_model(judge)]
        if column.ratio is not None:
            reasons += self.found.main.sampling_problems(column.ratio.over)
        return reasons

    def _columns(self, file: str, place: str, spec: TableSpec, name: str) -> None:
        scores = load_scores(name)
        metrics = {metric for form in scores.SCORES.values() for metric in form.metrics} | load_statistics(name).metrics
        for column in spec.columns:
            shown = [column.ratio.metric] if column.ratio else spec.metrics_of(column)
            reasons = [reason for metric in shown for reason in _unknown("metric", metric, metrics)]
            if column.shows == "metrics" and not spec.metrics_of(column):
                reasons.append("names no metric, and neither does its table.")
            self._add(file, f"{place}: column '{column.title}'", reasons)
        groups = {c.group for c in spec.columns} | {row.group for row in spec.rows()} | {spec.compared_with}
        known = (*scores.GROUPS, *self.found.benchmarks[name].groups)
        for group in sorted(group for group in groups if group):
            self._add(file, place, _unknown("group", group, known))

    # --- benchmarks ----------------------------------------------------------------------------------------------

    def _benchmark(self, name: str, benchmark: Benchmark, root: Path) -> None:
        """Names that a benchmark's module and its prompts define: forms, prompts, metrics."""
        file = f"config/benchmarks/{name}.yaml"
        if name not in benchmark_names():
            self._add(file, "", _unknown("benchmark", name, benchmark_names()))
            return
        for module, reason in unmatched_forms(name):
            self.problems.add(module, "", reason)
        forms, judged, prompts = load_scores(name).SCORES, load_answers(name), load_prompts(root / benchmark.prompts)
        for key, protocol in benchmark.protocols.items():
            place = f"protocols.{key}"
            self._add(file, f"{place}.form", _unknown("form", protocol.form, forms))
            self._add(file, f"{place}.prompt", _unknown("prompt", protocol.prompt, prompts))
            if protocol.judge is not None:
                self._add(file, f"{place}.judge", _unknown("prompt", protocol.judge, prompts))
            for metric in protocol.frames_min if protocol.form in forms else ():
                self._add(file, f"{place}.frames_min", _unknown("metric", metric, forms[protocol.form].metrics))
            if protocol.judge_reads == "unread":
                self._add(file, f"{place}.judge_reads", list(_reads_unread(protocol)))
            elif protocol.judge is not None and protocol.form in forms and protocol.form not in judged:
                listed = ", ".join(judged) or "none"
                reason = f"answers to form '{protocol.form}' cannot be judged. Forms whose answers can be: {listed}."
                self.problems.add(file, f"{place}.judge", reason)
            self._add(file, f"{place}.answers_of", _answers_problems(protocol, benchmark))


def _unknown(what: str, name: str, allowed: Collection[str]) -> list[str]:
    return [] if name in allowed else [f"unknown {what} '{name}'.{choices(name, allowed)}"]


def _reads_unread(protocol: Protocol) -> Iterator[str]:
    """What a model reads must be words that choose an option."""
    if protocol.judge is None:
        yield "no prompt by which a model reads what is left unread. Name one in `judge:`."
    if protocol.ask not in ("choose", "write") or protocol.reading == "text":
        yield (
            f"answers of `ask: {protocol.ask}`, `reading: {protocol.reading}` choose no option in words. "
            "Write `judge_reads: all`."
        )


def _answers_problems(protocol: Protocol, benchmark: Benchmark) -> list[str]:
    """Answers can serve two protocols only where both ask the same."""
    if protocol.answers_of is None:
        return []
    other = benchmark.protocols.get(protocol.answers_of)
    if other is None:
        return _unknown("protocol", protocol.answers_of, benchmark.protocols)
    differing = [one for one in ("form", "prompt", "ask") if getattr(protocol, one) != getattr(other, one)]
    return [f"'{protocol.answers_of}' asks another question: {', '.join(differing)} differ."] if differing else []


def _ask_problems(model: Model, protocol: Protocol) -> list[str]:
    """A model that cannot give what a protocol asks for."""
    given = ADAPTERS[model.adapter].asked(model.settings)
    if protocol.ask in given:
        return []
    adapter = ADAPTERS[model.adapter]
    able = next((value for value, asks in adapter.heads.items() if protocol.ask in asks), None)
    hint = f" Where its model can, set `settings: {{{adapter.chosen_by}: {able}}}`." if able else ""
    return [f"the protocol asks for '{protocol.ask}', adapter '{model.adapter}' gives {', '.join(given)}.{hint}"]


def _frames_problems(model: Model, name: str, rule: dict[str, Any]) -> list[str]:
    """A model that needs frames and is shown none, or one that takes no frames and is shown some."""
    wanted = ADAPTERS[model.adapter].frames
    is_blind = rule.get("rule") == "none"
    if wanted == "needed" and is_blind:
        return [f"{model.adapter} needs frames, but sampling '{name}' shows none. Use a sampling of another rule."]
    if wanted == "never" and not is_blind:
        return [f"adapter '{model.adapter}' takes no frames, but sampling '{name}' shows some. Use `sampling: none`."]
    return []
