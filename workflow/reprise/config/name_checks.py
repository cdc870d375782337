"""Check names and runs against what a configuration and its benchmarks' modules define."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from reprise.benchmarks.registry import load_scores, load_statistics
from reprise.config.configuration import Configuration
from reprise.config.problems import find_unknown_name
from reprise.external import has_importer, load_importer
from reprise.models.adapters import ADAPTERS


class NameChecks(NamedTuple):
    """Checks of names against those that a configuration defines; names of unreadable files count as defined."""

    configuration: Configuration
    # Names of models and benchmarks whose files have problems. A reference to them is no further problem.
    unreadable_names: Collection[str]
    root: Path
    checked_models: set[str]  # every name that `model_problems` has checked: the models that the suite names

    def model_problems(self, names: Iterable[str]) -> list[str]:
        """Return the problems of unknown models."""
        models = list(names)
        self.checked_models.update(models)
        defined = {*self.configuration.models, *self.unreadable_names}
        return [reason for name in models for reason in find_unknown_name("model", name, defined)]

    def sampling_problems(self, names: Iterable[str]) -> list[str]:
        """Return the problems of unknown samplings."""
        return [reason for name in names for reason in self.configuration.main.sampling_problems(name)]

    def writing_problems(self, names: Collection[str], task: str) -> list[str]:
        """Return the problems of models that must generate text; `task` is a verb after "cannot", such as `judge`."""
        reasons = self.model_problems(names)
        for name, model in self.configuration.models.items():
            outputs = ADAPTERS[model.adapter].get_request_types(model.settings)
            if name in names and "write" not in outputs:
                reasons.append(f"'{name}' cannot {task}: adapter '{model.adapter}' supports only {', '.join(outputs)}.")
        return reasons

    def metrics(self, benchmark: str) -> set[str]:
        """Return the metrics of a benchmark."""
        forms = load_scores(benchmark).SCORES.values()
        return {metric for form in forms for metric in form.metrics} | set(load_statistics(benchmark).metrics)

    def groups(self, benchmark: str) -> list[str]:
        """Return the groups of a benchmark's items."""
        return [*load_scores(benchmark).GROUPS, *self.configuration.benchmarks[benchmark].groups]

    def run_problems(self, run: str, benchmark: str) -> list[str]:
        """Return the problems of a run: unknown names, or a model that cannot answer the protocol."""
        protocol, sampling, name = run.split("/")
        # Each is None if its file is missing or unreadable.
        spec, model = self.configuration.benchmarks.get(benchmark), self.configuration.models.get(name)
        reasons = [
            *self.model_problems([name]),
            *(find_unknown_name("protocol", protocol, spec.protocols) if spec else []),
            *self.sampling_problems([sampling]),
        ]
        if reasons or spec is None or model is None:
            return reasons
        protocol_spec, adapter = spec.protocols[protocol], ADAPTERS[model.adapter]
        if adapter.is_import:
            return find_form_problems(benchmark, protocol_spec.form)
        outputs = adapter.get_request_types(model.settings)
        if protocol_spec.request_type not in outputs:
            # The adapter's setting that adds the request type, if there is one.
            override = next(
                (
                    setting
                    for setting, request_types in adapter.request_type_overrides.items()
                    if protocol_spec.request_type in request_types
                ),
                None,
            )
            hint = (
                f" If the model supports it, set `settings: {{{adapter.override_setting}: {override}}}`."
                if override
                else ""
            )
            reasons.append(
                f"the protocol requests '{protocol_spec.request_type}', but adapter '{model.adapter}' supports only "
                f"{', '.join(outputs)}.{hint}"
            )
        rule = self.configuration.main.samplings[sampling]
        if "transform" in rule and adapter.should_upload_clips(model.settings):
            reasons.append(
                f"'{sampling}': the server receives the clip's file, so its frames cannot be transformed. "
                f"Set `settings.frames: images` in {self.configuration.model_file(name)}."
            )
        if protocol_spec.image_size is not None and (
            adapter.needs_weights or adapter.should_upload_clips(model.settings)
        ):
            reasons.append(
                f"protocol '{protocol}' downscales frames (image_size: {protocol_spec.image_size}), which adapter "
                f"'{model.adapter}' does not support with these settings. Use a protocol without `image_size`."
            )
        conflict = f"but sampling '{sampling}' selects"
        if rule["rule"] == "none" and adapter.frame_support == "required":
            reasons.append(f"adapter '{model.adapter}' needs frames, {conflict} none. Use a sampling of another rule.")
        if rule["rule"] != "none" and adapter.frame_support == "never":
            reasons.append(f"adapter '{model.adapter}' takes no frames, {conflict} some. Use `sampling: none`.")
        return reasons


def find_form_problems(benchmark: str, form: str) -> list[str]:
    """Return why responses to a form of question cannot be imported."""
    if not has_importer(benchmark):
        return [f"predictions for '{benchmark}' cannot be imported: it is not a benchmark, or has no import format."]
    forms = load_importer(benchmark).FORMS
    return (
        []
        if form in forms
        else [f"the authors' files contain no responses to form '{form}'. Forms: {', '.join(forms)}."]
    )
