"""Give each model of a suite one colour and one marker, which all figures of the suite use."""

from collections.abc import Collection, Sequence

from reprise.core.settings import KeyPart

# Colours of Okabe and Ito, which are distinct for readers with any colour vision. Their orange and vermilion show
# outcomes, such as a lower score, and their yellow is too light for white paper, so no model has these.
MODEL_COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#000000")
OUTCOME_COLOURS = ("#E69F00", "#D55E00")
GREYS = ("#7F7F7F", "#A3A3A3", "#6A6A6A")
# The number of markers has no factor in common with the numbers of colours and greys, so few models share both.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "d")


class ModelStyle(KeyPart):
    """Colour and marker of a model."""

    colour: str
    marker: str


def assign_styles(
    overview: Sequence[str], figure_models: Sequence[str], references: Collection[str]
) -> dict[str, ModelStyle]:
    """Return the style of each model; a model that is added at the end changes no other model's style.

    Args:
        overview: Models of the suite's overview, which have colours. Without an overview, all models have colours.
        figure_models: Models of the figures of tables in their order; those outside the overview are grey.
        references: Models for comparison only, such as humans, which are grey.
    """
    emphasised = [model for model in overview or figure_models if model not in references]
    # `reprise eval` puts new models first. They are numbered backwards, so the models after them keep their numbers.
    first = next((index for index, model in enumerate(emphasised) if model in figure_models), 0)
    styles = {model: _get_style(GREYS, index) for index, model in enumerate(dict.fromkeys([*figure_models, *overview]))}
    return styles | {model: _get_style(MODEL_COLOURS, index - first) for index, model in enumerate(emphasised)}


def _get_style(colours: Sequence[str], index: int) -> ModelStyle:
    return ModelStyle(colour=colours[index % len(colours)], marker=MARKERS[index % len(MARKERS)])
