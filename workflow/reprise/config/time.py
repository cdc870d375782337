"""The cards of time of a suite: which models are asked what, with their frames in every view of time."""

from collections.abc import Iterator
from pathlib import Path

from reprise.config.configuration import Configuration
from reprise.config.known import Known
from reprise.config.tables import Row
from reprise.core.errors import choices
from reprise.media.sampling import BLIND

ALL = "all"
PLANNED = "planned"
Views = dict[str, Row | str]  # view -> the row of the overview with its frames shown so, or why that makes no sense


def time_rows(found: Configuration) -> dict[str, dict[str, Views]]:
    """Model -> benchmark -> what it is asked for its card."""
    cards: dict[str, dict[str, Views]] = {}
    overview = {name: spec for name in found.tables if (spec := found.overview_of(name))}
    lines = [line.model for line in found.suite.overview_lines()]
    for slug in (one for one in lines if one in found.suite.time or ALL in found.suite.time):
        rows = {name: row for name, spec in overview.items() for row in spec.rows() if row.model == slug}
        if any(found.main.samplings[str(row.sampling)] != BLIND for row in rows.values()):
            cards[slug] = {name: _views(found, name, row) for name, row in rows.items()}
    return cards


def _views(found: Configuration, benchmark: str, row: Row) -> Views:
    known, views = Known(found, (), Path()), dict[str, Row | str]({PLANNED: row})
    for show in found.suite.time_views:
        sampling = found.main.viewed(str(row.sampling), show)
        reasons = known.run(f"{row.protocol}/{sampling}/{row.model}", benchmark)
        views[show] = " ".join(reasons) if reasons else row.model_copy(update={"sampling": sampling})
    return views


def time_problems(found: Configuration) -> Iterator[str]:
    """What is wrong with the models whose cards a suite wants, and with what cards need."""
    suite, main = found.suite, found.main
    if not suite.time:
        return
    known = [ALL, *(line.model for line in suite.overview_lines())]
    for slug in suite.time:
        if slug not in known:
            yield f"'{slug}' is not in `overview:`, which says what it is asked.{choices(slug, known)}"
        elif slug != ALL and slug in found.models and slug not in time_rows(found):
            yield f"'{slug}' is shown no frames on any benchmark, so that there is nothing to compare. Leave it out."
    missing = [show for show in suite.time_views if main.view_that_shows(show) is None]
    yield from (f"`views:` of config/config.yaml has no view that shows it. Add: {s}: {{show: {s}}}" for s in missing)
    if BLIND not in main.samplings.values():
        yield "`samplings:` of config/config.yaml has none without frames. Add: none: {rule: none}"
