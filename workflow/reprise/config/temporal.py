"""Determine the temporal profiles of a suite: which models get one, and under which conditions."""

from collections.abc import Iterator
from pathlib import Path

from reprise.config.configuration import Configuration
from reprise.config.name_checks import NameChecks
from reprise.config.single_frame_probe import list_probe_conditions
from reprise.config.tables import Row
from reprise.core.errors import describe_choices
from reprise.core.paths import ALL
from reprise.media.sampling import NO_FRAMES_RULE

PLANNED = "planned"  # Condition without an ablation: the frames that the sampling plans.
# Condition -> row of the overview under this condition, or the reason why the model does not support it.
Conditions = dict[str, Row | str]


def temporal_rows(config: Configuration) -> dict[str, dict[str, Conditions]]:
    """Return model -> benchmark -> conditions for each model with a temporal profile."""
    profiles: dict[str, dict[str, Conditions]] = {}
    overview_specs = {name: spec for name in config.tables if (spec := config.get_overview(name))}
    lines = config.suite.overview_lines()
    slugs = [line.model for line in lines if config.suite.has_temporal_profile(line.model)]
    for slug in slugs:
        rows = {name: row for name, spec in overview_specs.items() for row in spec.rows() if row.model == slug}
        # A model that receives no frames in any benchmark has no profile.
        if any(config.main.samplings[str(row.sampling)] != NO_FRAMES_RULE for row in rows.values()):
            profiles[slug] = {name: _conditions(config, name, row) for name, row in rows.items()}
    return profiles


def _conditions(config: Configuration, benchmark: str, row: Row) -> Conditions:
    """Return the conditions of a row of the overview: as planned, under each ablation, and those of the probe."""
    checks, conditions = NameChecks(config, (), Path(), set()), dict[str, Row | str]({PLANNED: row})
    samplings: dict[str, str] = {
        ablation: config.main.transformed_name(str(row.sampling), ablation)
        for ablation in config.suite.temporal_ablations
    }
    probe = list_probe_conditions(config, benchmark, row)
    samplings |= {condition: f"{row.sampling}.{condition}" for condition in probe}
    for condition, sampling in samplings.items():
        reasons = checks.run_problems(f"{row.protocol}/{sampling}/{row.model}", benchmark)
        conditions[condition] = " ".join(reasons) if reasons else row.model_copy(update={"sampling": sampling})
    return conditions


def temporal_problems(config: Configuration) -> Iterator[str]:
    """Yield the problems of `temporal:` and of the settings that temporal profiles need."""
    suite, main = config.suite, config.main
    if not suite.temporal:
        return
    models = [line.model for line in suite.overview_lines()]
    for slug in suite.temporal:
        if slug not in (ALL, *models):
            choices = describe_choices(slug, [ALL, *models]) if models else ""
            yield (
                f"'{slug}' is not in `overview:`, which defines its runs. Add it to `overview:`, or remove it "
                f"here.{choices}"
            )
        elif slug != ALL and slug in config.models and slug not in temporal_rows(config):
            yield f"'{slug}' receives no frames in any benchmark, so there is nothing to compare. Remove it."
    for ablation in suite.temporal_ablations:
        if main.find_transform(ablation) is None:
            yield (
                f"`transforms:` of config/config.yaml has no '{ablation}' transform. "
                f"Add: {ablation}: {{show: {ablation}}}"
            )
    if NO_FRAMES_RULE not in main.samplings.values():
        yield "`samplings:` of config/config.yaml has no sampling without frames. Add: none: {rule: none}"
