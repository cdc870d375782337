"""Determine the temporal profiles (`time` cards) of a suite: which models get one, and with which ablations."""

from collections.abc import Iterator
from pathlib import Path

from reprise.config.configuration import Configuration
from reprise.config.known import Known
from reprise.config.tables import Row
from reprise.core.errors import choices
from reprise.media.sampling import BLIND

ALL = "all"
PLANNED = "planned"
Views = dict[str, Row | str]  # view -> the overview's row with this ablation of its frames, or why it is impossible


def time_rows(config: Configuration) -> dict[str, dict[str, Views]]:
    """Return the rows that each model's temporal profile needs, by model and benchmark."""
    profiles: dict[str, dict[str, Views]] = {}
    overview = {name: spec for name in config.tables if (spec := config.overview_of(name))}
    lines = [line.model for line in config.suite.overview_lines()]
    for slug in (model for model in lines if model in config.suite.time or ALL in config.suite.time):
        rows = {name: row for name, spec in overview.items() for row in spec.rows() if row.model == slug}
        if any(config.main.samplings[str(row.sampling)] != BLIND for row in rows.values()):
            profiles[slug] = {name: _views(config, name, row) for name, row in rows.items()}
    return profiles


def _views(config: Configuration, benchmark: str, row: Row) -> Views:
    names, views = Known(config, (), Path()), dict[str, Row | str]({PLANNED: row})
    for show in config.suite.time_views:
        sampling = config.main.viewed(str(row.sampling), show)
        reasons = names.run(f"{row.protocol}/{sampling}/{row.model}", benchmark)
        views[show] = " ".join(reasons) if reasons else row.model_copy(update={"sampling": sampling})
    return views


def time_problems(config: Configuration) -> Iterator[str]:
    """Yield problems of the models that should have temporal profiles, and of the settings that these need."""
    suite, main = config.suite, config.main
    if not suite.time:
        return
    allowed = [ALL, *(line.model for line in suite.overview_lines())]
    for slug in suite.time:
        if slug not in allowed:
            yield f"'{slug}' is not in `overview:`, which says what it is asked.{choices(slug, allowed)}"
        elif slug != ALL and slug in config.models and slug not in time_rows(config):
            yield f"'{slug}' is shown no frames on any benchmark, so that there is nothing to compare. Leave it out."
    missing = [show for show in suite.time_views if main.view_that_shows(show) is None]
    yield from (f"`views:` of config/config.yaml has no view that shows it. Add: {s}: {{show: {s}}}" for s in missing)
    if BLIND not in main.samplings.values():
        yield "`samplings:` of config/config.yaml has none without frames. Add: none: {rule: none}"
