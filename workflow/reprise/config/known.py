"""The names that a configuration and its benchmarks' modules define, and what is wrong with a name or a run."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from reprise.benchmarks.registry import load_scores, load_statistics
from reprise.config.configuration import Configuration
from reprise.config.problems import unknown_name
from reprise.external import has_importer, load_importer
from reprise.models.adapters import ADAPTERS


class Known(NamedTuple):
    """A configuration as it was read, to check names by; what a file with problems would define counts as known."""

    found: Configuration
    unreadable: Collection[str]  # models and benchmarks whose files have problems
    root: Path

    def models(self, names: Iterable[str]) -> list[str]:
        known = {*self.found.models, *self.unreadable}
        return [reason for name in names for reason in unknown_name("model", name, known)]

    def samplings(self, names: Iterable[str]) -> list[str]:
        return [reason for name in names for reason in self.found.main.sampling_problems(name)]

    def writing(self, names: Collection[str], work: str) -> list[str]:
        """What is wrong with models whose work, to judge or to write, takes an adapter that gives texts."""
        reasons = self.models(names)
        for name, model in self.found.models.items():
            asked = ADAPTERS[model.adapter].asked(model.settings)
            if name in names and "write" not in asked:
                reasons.append(f"'{name}' cannot {work}: adapter '{model.adapter}' gives {', '.join(asked)}.")
        return reasons

    def metrics(self, benchmark: str) -> set[str]:
        forms = load_scores(benchmark).SCORES.values()
        return {metric for form in forms for metric in form.metrics} | set(load_statistics(benchmark).metrics)

    def groups(self, benchmark: str) -> list[str]:
        return [*load_scores(benchmark).GROUPS, *self.found.benchmarks[benchmark].groups]

    def run(self, run: str, benchmark: str) -> list[str]:
        """The names of a run must exist, and its model must be able to answer it."""
        protocol, sampling, name = run.split("/")
        spec, model = self.found.benchmarks.get(benchmark), self.found.models.get(name)
        reasons = [
            *self.models([name]),
            *(unknown_name("protocol", protocol, spec.protocols) if spec else []),
            *self.samplings([sampling]),
        ]
        if reasons or spec is None or model is None:
            return reasons
        asked, adapter = spec.protocols[protocol], ADAPTERS[model.adapter]
        if adapter.is_import:
            return form_problems(benchmark, asked.form)
        given = adapter.asked(model.settings)
        if asked.ask not in given:
            able = next((value for value, asks in adapter.heads.items() if asked.ask in asks), None)
            hint = f" Where its model can, set `settings: {{{adapter.chosen_by}: {able}}}`." if able else ""
            reasons.append(
                f"the protocol asks for '{asked.ask}', adapter '{model.adapter}' gives {', '.join(given)}.{hint}"
            )
        rule = self.found.main.samplings[sampling]
        if "view" in rule and adapter.takes_files(model.settings):
            reasons.append(
                f"'{sampling}': the server is given the clip's file, so that no view of its frames can be shown. "
                f"Set `settings.frames: images` in {self.found.file_of(name)}."
            )
        if asked.image_size is not None and (adapter.needs_weights or adapter.takes_files(model.settings)):
            reasons.append(
                f"protocol '{protocol}' makes frames smaller (image_size: {asked.image_size}), which adapter "
                f"'{model.adapter}' does not do with these settings. Use a protocol without `image_size`."
            )
        refused = f"but sampling '{sampling}' shows"
        if rule["rule"] == "none" and adapter.frames == "needed":
            reasons.append(f"{model.adapter} needs frames, {refused} none. Use a sampling of another rule.")
        if rule["rule"] != "none" and adapter.frames == "never":
            reasons.append(f"adapter '{model.adapter}' takes no frames, {refused} some. Use `sampling: none`.")
        return reasons


def form_problems(benchmark: str, form: str) -> list[str]:
    """Why answers to a form of question cannot be imported."""
    if not has_importer(benchmark):
        return [f"answers to '{benchmark}' cannot be imported: it is not a benchmark, or has no file format."]
    forms = load_importer(benchmark).FORMS
    return [] if form in forms else [f"the authors' files hold no answers to form '{form}'. Forms: {', '.join(forms)}."]
