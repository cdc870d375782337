"""Check names and runs against what a configuration and its benchmarks' modules define."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from reprise.benchmarks.registry import load_scores, load_statistics
from reprise.config.configuration import Configuration
from reprise.config.problems import unknown_name
from reprise.external import has_importer, load_importer
from reprise.models.adapters import ADAPTERS


class Known(NamedTuple):
    """Names that a configuration defines, with checks; names from unreadable files count as defined."""

    found: Configuration
    unreadable: Collection[str]  # models and benchmarks whose files have problems
    root: Path

    def models(self, names: Iterable[str]) -> list[str]:
        """Return the problems of unknown models."""
        defined = {*self.found.models, *self.unreadable}
        return [reason for name in names for reason in unknown_name("model", name, defined)]

    def samplings(self, names: Iterable[str]) -> list[str]:
        """Return the problems of unknown samplings."""
        return [reason for name in names for reason in self.found.main.sampling_problems(name)]

    def writing(self, names: Collection[str], work: str) -> list[str]:
        """Return the problems of models that must generate text to judge or to write."""
        reasons = self.models(names)
        for name, model in self.found.models.items():
            outputs = ADAPTERS[model.adapter].asked(model.settings)
            if name in names and "write" not in outputs:
                reasons.append(f"'{name}' cannot {work}: adapter '{model.adapter}' gives {', '.join(outputs)}.")
        return reasons

    def metrics(self, benchmark: str) -> set[str]:
        """Return the metrics of a benchmark."""
        forms = load_scores(benchmark).SCORES.values()
        return {metric for form in forms for metric in form.metrics} | set(load_statistics(benchmark).metrics)

    def groups(self, benchmark: str) -> list[str]:
        """Return the groups of a benchmark's items."""
        return [*load_scores(benchmark).GROUPS, *self.found.benchmarks[benchmark].groups]

    def run(self, run: str, benchmark: str) -> list[str]:
        """Return the problems of a run: unknown names, or a model that cannot answer the protocol."""
        protocol, sampling, name = run.split("/")
        spec, model = self.found.benchmarks.get(benchmark), self.found.models.get(name)
        reasons = [
            *self.models([name]),
            *(unknown_name("protocol", protocol, spec.protocols) if spec else []),
            *self.samplings([sampling]),
        ]
        if reasons or spec is None or model is None:
            return reasons
        request, adapter = spec.protocols[protocol], ADAPTERS[model.adapter]
        if adapter.is_import:
            return form_problems(benchmark, request.form)
        outputs = adapter.asked(model.settings)
        if request.ask not in outputs:
            head = next((value for value, kinds in adapter.heads.items() if request.ask in kinds), None)
            hint = f" Where its model can, set `settings: {{{adapter.chosen_by}: {head}}}`." if head else ""
            reasons.append(
                f"the protocol asks for '{request.ask}', adapter '{model.adapter}' gives {', '.join(outputs)}.{hint}"
            )
        rule = self.found.main.samplings[sampling]
        if "view" in rule and adapter.takes_files(model.settings):
            reasons.append(
                f"'{sampling}': the server is given the clip's file, so that no view of its frames can be shown. "
                f"Set `settings.frames: images` in {self.found.file_of(name)}."
            )
        if request.image_size is not None and (adapter.needs_weights or adapter.takes_files(model.settings)):
            reasons.append(
                f"protocol '{protocol}' makes frames smaller (image_size: {request.image_size}), which adapter "
                f"'{model.adapter}' does not do with these settings. Use a protocol without `image_size`."
            )
        conflict = f"but sampling '{sampling}' shows"
        if rule["rule"] == "none" and adapter.frames == "needed":
            reasons.append(f"{model.adapter} needs frames, {conflict} none. Use a sampling of another rule.")
        if rule["rule"] != "none" and adapter.frames == "never":
            reasons.append(f"adapter '{model.adapter}' takes no frames, {conflict} some. Use `sampling: none`.")
        return reasons


def form_problems(benchmark: str, form: str) -> list[str]:
    """Return why answers to a form of question cannot be imported."""
    if not has_importer(benchmark):
        return [f"answers to '{benchmark}' cannot be imported: it is not a benchmark, or has no file format."]
    forms = load_importer(benchmark).FORMS
    return [] if form in forms else [f"the authors' files hold no answers to form '{form}'. Forms: {', '.join(forms)}."]
