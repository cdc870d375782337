"""For time.smk: the cards that say of a model whether it uses time, and all of them side by side."""

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

OF_FRAMES = {0: NONE, 1: MIDDLE}  # number of frames -> the view that a published value of so many is like


class Time(Asked):
    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.models = one_of(plan.time)  # those with a card, as a wildcard's pattern

    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Key]]:
        if not self._plan.time:
            return
        config, key = self._plan.config, settings_name
        of_suite = {"suite": config.name, "notice": config.suite.notice, "level": config.main.confidence}
        for slug, asked in self._plan.time.items():
            benchmarks = [self._benchmark(slug, name) for name in asked]
            of_model = {"model": slug, "title": config.models[slug].label, "benchmarks": benchmarks}
            card = TimeCardKey.model_validate(of_suite | of_model)
            yield key("time", slug), runs.versioned("time_card", card, *asked)
        every = TimeAllKey.model_validate(of_suite | {"models": tuple(self._plan.time)})
        yield key("time_all"), runs.versioned("time_all", every)

    def _benchmark(self, slug: str, name: str) -> dict[str, Any]:
        plan, config = self._plan, self._plan.config
        tables = config.tables[name]
        main = tables.overview
        assert main is not None
        column = main.columns[-1]
        row = next(row for row in plan.overview[name].rows() if row.model == slug)
        assert row.protocol is not None and row.sampling is not None
        score, title = plan.overview[name].metrics_of(column)[-1], tables.abbreviations.get(column.title, column.title)
        is_counted = load_scores(name).CHANCE.get(score, 0.0) is None  # chance, from the data
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
            runs={view: one.run.name for view, one in views.items() if isinstance(one, Scored)},
            views={
                view: plan.results.verdicts(one.run, one.judge or "robust") if isinstance(one, Scored) else None
                for view, one in views.items()
            },
            missing={view: why for view, why in views.items() if isinstance(why, str)},
            published=tuple(self._published(name, row, column)),
        )

    def _published(self, name: str, own: Row, column: Column) -> Iterator[dict[str, Any]]:
        """What the paper prints of the same model and score as it is asked here, of words alone, and of one frame."""
        config = self._plan.config
        if not config.suite.show_published:
            return
        metric = (column.metrics or [""])[-1]
        for table, spec in config.tables[name].tables.items():
            printed = Published(published_file(name), table)
            for row in spec.rows():
                if row.model != own.model or row.sampling is None:
                    continue
                is_own = (row.protocol, row.sampling) == (own.protocol, own.sampling)
                frames = frames_shown(config.main.samplings[row.sampling])
                view = PLANNED if is_own else None if frames is None else OF_FRAMES.get(frames)
                found = printed.get(row.published or row.label, row.frames, column.group or "", metric)
                if view and found:
                    source = f"{config.benchmarks[name].title}, Table {table.removeprefix('table')}: {row.label}"
                    yield {"view": view, "value": found.value, "source": source}

    def files(self) -> list[Path]:
        names = [*self._plan.time, ALL] if self._plan.time else []
        return [time_file(name, kind) for name in names for kind in CARDS]

    def of_model(self, wildcards: Any) -> list[Path]:
        benchmarks = [self._benchmark(wildcards.model, name) for name in self._plan.time[wildcards.model]]
        paths = [path for one in benchmarks for path in (*one["views"].values(), one["items"], one["statistics"])]
        return list(dict.fromkeys(path for path in paths if path is not None))

    def cards(self, wildcards: Any) -> list[Path]:
        return [time_file(slug, "json") for slug in self._plan.time]
