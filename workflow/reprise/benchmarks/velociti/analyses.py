"""Groups of VELOCITI's analyses: facets of understanding, kinds of negation, and kinds of actions."""

from collections.abc import Mapping, Sequence

from reprise.benchmarks.analysing import Analyses, Facts
from reprise.benchmarks.rows import Item
from reprise.benchmarks.velociti.actions import verb_groups
from reprise.benchmarks.velociti.analysed import FACETS, VERB_GROUPS


def _of_items(items: Sequence[Item], facts: Facts) -> Mapping[str, Sequence[str]]:
    """A sample is in the groups of the verbs in its right caption."""
    return {item.item_id: verb_groups(item.texts.get("positive", "")) for item in items}


ANALYSES = Analyses(frozenset({*FACETS, *VERB_GROUPS}), _of_items)
