"""Serve time.smk: temporal profiles (`time` cards), which tell whether a model uses temporal order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.benchmarks.registry import load_scores
from reprise.config.tables import Column, Row
from reprise.config.time import PLANNED
from reprise.core.names import one_of
from reprise.core.paths import ALL, Scored, settings_name, time_file
from reprise.core.settings import Key
from reprise.media.sampling import frames_shown
from reprise.media.views import MIDDLE, NONE
from reprise.plan.rules import Asked
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.targets import CARDS
from reprise.tables.published import Published, published_file
from reprise.timecard.card import TimeAllKey, TimeCardKey

# Number of frames -> the view that corresponds to a published value with so many frames.
OF_FRAMES = {0: NONE, 1: MIDDLE}


class Time(Asked):
    """Settings and input functions of time.smk."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.models = one_of(plan.time)  # wildcard pattern of models with a temporal profile

    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Key]]:
        """Yield the settings of the stages of time.smk by name."""
        if not self._plan.time:
            return
        config, key = self._plan.config, settings_name
        suite_fields = {"suite": config.name, "notice": config.suite.notice, "level": config.main.confidence}
        for slug, views_by_benchmark in self._plan.time.items():
            benchmarks = [self._benchmark(slug, name) for name in views_by_benchmark]
            model_fields = {"model": slug, "title": config.models[slug].label, "benchmarks": benchmarks}
            card = TimeCardKey.model_validate(suite_fields | model_fields)
            yield key("time", slug), runs.versioned("time_card", card, *views_by_benchmark)
        combined = TimeAllKey.model_validate(suite_fields | {"models": tuple(self._plan.time)})
        yield key("time_all"), runs.versioned("time_all", combined)

    def _benchmark(self, slug: str, name: str) -> dict[str, Any]:
        """Return the fields of a benchmark in a model's temporal profile."""
        plan, config = self._plan, self._plan.config
        tables = config.tables[name]
        main = tables.overview
        assert main is not None
        column = main.columns[-1]
        row = next(row for row in plan.overview[name].rows() if row.model == slug)
        assert row.protocol is not None and row.sampling is not None
        score, title = plan.overview[name].metrics_of(column)[-1], tables.abbreviations.get(column.title, column.title)
        is_counted = load_scores(name).CHANCE.get(score, 0.0) is None  # The chance level is computed from the data.
        views = plan.time[slug][name]
        return dict(
            name=name,
            title=config.benchmarks[name].title,
            protocol=row.protocol,
            form=config.benchmarks[name].protocols[row.protocol].form,
            sampling=row.sampling,
            score=score,
            group=column.group or "",
            score_title=title[:1].upper() + title[1:],
            decimals=column.decimals,
            items=plan.results.items(name),
            statistics=plan.results.statistics(name) if is_counted else None,
            runs={view: scored.run.name for view, scored in views.items() if isinstance(scored, Scored)},
            views={
                view: plan.results.verdicts(scored.run, scored.judge or "robust")
                if isinstance(scored, Scored)
                else None
                for view, scored in views.items()
            },
            missing={view: reason for view, reason in views.items() if isinstance(reason, str)},
            published=tuple(self._published(name, row, column)),
        )

    def _published(self, name: str, planned_row: Row, column: Column) -> Iterator[dict[str, Any]]:
        """Yield the paper's values of this model and score with the same frames, with no frames and with one frame."""
        config = self._plan.config
        if not config.suite.show_published:
            return
        metric = (column.metrics or [""])[-1]
        for table, spec in config.tables[name].tables.items():
            printed = Published(published_file(name), table)
            for row in spec.rows():
                if row.model != planned_row.model or row.sampling is None:
                    continue
                is_planned = (row.protocol, row.sampling) == (planned_row.protocol, planned_row.sampling)
                frames = frames_shown(config.main.samplings[row.sampling])
                view = PLANNED if is_planned else None if frames is None else OF_FRAMES.get(frames)
                cell = printed.get(row.published or row.label, row.frames, column.group or "", metric)
                if view and cell:
                    source = f"{config.benchmarks[name].title}, Table {table.removeprefix('table')}: {row.label}"
                    yield {"view": view, "value": cell.value, "source": source}

    def files(self) -> list[Path]:
        """Return the temporal profiles of all models in each format."""
        names = [*self._plan.time, ALL] if self._plan.time else []
        return [time_file(name, kind) for name in names for kind in CARDS]

    def of_model(self, wildcards: Any) -> list[Path]:
        """Return the inputs of one model's temporal profile."""
        benchmarks = [self._benchmark(wildcards.model, name) for name in self._plan.time[wildcards.model]]
        paths = [
            path for fields in benchmarks for path in (*fields["views"].values(), fields["items"], fields["statistics"])
        ]
        return list(dict.fromkeys(path for path in paths if path is not None))

    def cards(self, wildcards: Any) -> list[Path]:
        """Return the temporal profiles as JSON."""
        return [time_file(slug, "json") for slug in self._plan.time]
