"""Assign the colours and markers of a suite's models, which all its figures use."""

from reprise.figures.styles import ModelStyle, assign_styles
from reprise.plan.runs import Plan


def assign_model_styles(plan: Plan) -> dict[str, ModelStyle]:
    """Return the style of each model of the suite's overview and figures."""
    config = plan.config
    parts = [part for benchmark, figure, _ in plan.list_figures() for _, part in plan.table_parts(benchmark, figure)]
    cells = [cell for part in parts for cell in part.cells()]
    figure_models = list(dict.fromkeys(cell.model for cell in cells if cell.model is not None))
    overview = [line.model for line in config.suite.overview_lines()]
    references = {slug for slug in (*figure_models, *overview) if config.models[slug].reference}
    return assign_styles(overview, figure_models, references)
