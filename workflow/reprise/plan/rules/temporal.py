"""Keys and input functions for temporal.smk: temporal profiles, which measure whether a model uses temporal order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.benchmarks.registry import load_scores
from reprise.config.figures import compute_width
from reprise.config.single_frame_probe import list_probe_conditions, name_probe_transform
from reprise.config.tables import Column, Row
from reprise.config.temporal import PLANNED
from reprise.core.names import any_of_pattern
from reprise.core.paths import ALL, ScoredRun, settings_name, temporal_file
from reprise.core.settings import Key
from reprise.media.ablations import NONE, PROBE_ABLATIONS
from reprise.media.sampling import count_frames
from reprise.plan.figure_styles import assign_model_styles
from reprise.plan.rules import RuleInputs
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.targets import TEMPORAL_FORMATS
from reprise.tables.published import PublishedTable, published_path
from reprise.temporal.conditions import BEST_FRAMES
from reprise.temporal.profile import TemporalProfileKey, TemporalProfilesKey

# Frame count of a paper's row -> the ablation that the row measures. Rows with one frame are left out: their frame is
# not always the first, middle or last.
ABLATION_BY_FRAMES = {0: NONE}


class TemporalRules(RuleInputs):
    """Settings and input functions of temporal.smk."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.models = any_of_pattern(plan.temporal_profiles)  # wildcard pattern of models with a temporal profile

    def stage_keys(self, run_keys: RunKeys) -> Iterator[tuple[str, Key]]:
        """Yield the key of each stage of temporal.smk, with its name."""
        if not self._plan.temporal_profiles:
            return
        config = self._plan.config
        suite_fields = {"suite": config.name, "notice": config.suite.notice, "level": config.main.confidence}
        styles, figure_width = assign_model_styles(self._plan), config.suite.figure_width
        for slug, conditions_by_benchmark in self._plan.temporal_profiles.items():
            benchmarks = [self._benchmark_fields(slug, name) for name in conditions_by_benchmark]
            model_fields = {
                "model": slug,
                "title": config.models[slug].label,
                "benchmarks": benchmarks,
                "style": styles[slug],
                "width": compute_width(figure_width, "column"),
            }
            profile = TemporalProfileKey.model_validate(suite_fields | model_fields)
            yield (
                settings_name("temporal", slug),
                run_keys.add_versions("temporal_profile", profile, *conditions_by_benchmark),
            )
        # More than two benchmarks do not fit side by side in a column.
        is_wide = any(len(benchmarks) > 2 for benchmarks in self._plan.temporal_profiles.values())
        width = compute_width(figure_width, "page" if is_wide else "column")
        combined = TemporalProfilesKey.model_validate(suite_fields | {"width": width})
        yield settings_name("temporal_profiles"), run_keys.add_versions("temporal_profiles", combined)

    def _benchmark_fields(self, slug: str, name: str) -> dict[str, Any]:
        """Return the fields of a benchmark in a model's temporal profile."""
        plan, config = self._plan, self._plan.config
        tables = config.tables[name]
        assert tables.overview is not None
        # Temporal profiles compare the last column of the overview, by its last metric.
        column = tables.overview.columns[-1]
        row = next(row for row in plan.overview_specs[name].rows() if row.model == slug)
        assert row.protocol is not None and row.sampling is not None
        protocol = config.benchmarks[name].protocols[row.protocol]
        metric = plan.overview_specs[name].list_metrics(column)[-1]
        title = tables.abbreviations.get(column.title, column.title)
        # `CHANCE` maps a metric to None if its chance level is computed from the data.
        is_chance_computed = load_scores(name).CHANCE.get(metric, 0.0) is None
        conditions = dict(plan.temporal_profiles[slug][name])
        # The single-frame probe has a condition for each ablation and each position of a frame.
        probe = {condition: conditions.pop(condition) for condition in list_probe_conditions(config, name, row)}
        probe_reasons = [reason for reason in probe.values() if isinstance(reason, str)]
        verdicts = {condition: self._verdicts(scored) for condition, scored in {**conditions, **probe}.items()}
        return dict(
            name=name,
            title=config.benchmarks[name].get_title(row.protocol),
            protocol=row.protocol,
            form=protocol.form,
            sampling=row.sampling,
            frames=count_frames(config.main.samplings[row.sampling]),
            score=metric,
            group=column.group or "",
            score_title=title[:1].upper() + title[1:],
            decimals=column.decimals,
            items=plan.results.items(name),
            statistics=plan.results.statistics(name) if is_chance_computed else None,
            runs={
                condition: scored.run.name for condition, scored in conditions.items() if isinstance(scored, ScoredRun)
            },
            conditions={condition: verdicts[condition] for condition in conditions},
            probe={
                ablation: tuple(
                    verdicts[name_probe_transform(ablation, position)]
                    for position in range(1, len(probe) // len(PROBE_ABLATIONS) + 1)
                )
                for ablation in (PROBE_ABLATIONS if probe and not probe_reasons else ())
            },
            missing={condition: reason for condition, reason in conditions.items() if isinstance(reason, str)}
            | dict.fromkeys(BEST_FRAMES if probe_reasons else (), " ".join(probe_reasons[:1])),
            published=tuple(self._published_values(name, row, column, metric)),
            metrics=self._metrics_of(conditions[PLANNED]),
        )

    def _metrics_of(self, planned: ScoredRun | str) -> Path | None:
        """Return the metrics of the planned run, unless its model is a baseline, whose health is not checked."""
        if isinstance(planned, str) or self._plan.config.models[planned.run.model].reference:
            return None
        return self._plan.results.metrics(planned)

    def _verdicts(self, scored: ScoredRun | str) -> Path | None:
        """Return the verdicts of a condition, or None if it is not run."""
        return (
            self._plan.results.verdicts(scored.run, scored.judge or "robust") if isinstance(scored, ScoredRun) else None
        )

    def _published_values(self, name: str, planned_row: Row, column: Column, metric: str) -> Iterator[dict[str, Any]]:
        """Yield the paper's values of this model and metric, for those conditions for which the paper has a row."""
        config = self._plan.config
        if not config.suite.show_published:
            return
        for table, spec in config.tables[name].tables.items():
            published_table = PublishedTable(published_path(name), table)
            for row in spec.rows():
                if row.model != planned_row.model or row.sampling is None:
                    continue
                is_planned = (row.protocol, row.sampling) == (planned_row.protocol, planned_row.sampling)
                frame_count = count_frames(config.main.samplings[row.sampling])
                ablation = None if frame_count is None else ABLATION_BY_FRAMES.get(frame_count)
                condition = PLANNED if is_planned else ablation
                published_number = published_table.get(
                    row.published or row.label, row.frames, column.group or "", metric
                )
                if condition and published_number:
                    source = f"{config.benchmarks[name].title}, Table {table.removeprefix('table')}: {row.label}"
                    yield {"condition": condition, "value": published_number.value, "source": source}

    def files(self) -> list[Path]:
        """Return the temporal profiles of all models in each format."""
        names = [*self._plan.temporal_profiles, ALL] if self._plan.temporal_profiles else []
        return [temporal_file(name, kind) for name in names for kind in TEMPORAL_FORMATS]

    def profile_inputs(self, wildcards: Any) -> list[Path]:
        """Return the inputs of one model's temporal profile."""
        benchmarks = [
            self._benchmark_fields(wildcards.model, name) for name in self._plan.temporal_profiles[wildcards.model]
        ]
        paths = [
            path
            for fields in benchmarks
            for path in (
                *fields["conditions"].values(),
                *(path for paths in fields["probe"].values() for path in paths),
                fields["items"],
                fields["statistics"],
                fields["metrics"],
            )
        ]
        return list(dict.fromkeys(path for path in paths if path is not None))

    def temporal_profiles(self, wildcards: Any) -> list[Path]:
        """Return the temporal profiles as JSON."""
        return [temporal_file(slug, "json") for slug in self._plan.temporal_profiles]
