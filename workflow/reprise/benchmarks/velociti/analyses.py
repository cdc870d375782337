"""Groups of VELOCITI's analyses: facets of understanding, kinds of negation, and kinds of actions."""

from collections.abc import Mapping, Sequence

from reprise.benchmarks.analysing import Analyses, Facts
from reprise.benchmarks.rows import Item
from reprise.benchmarks.velociti.actions import VERBS, verb_groups

FACETS = {
    "agent": ("agent_random", "agent_bind", "coref"),
    "action": ("action_adv", "action_manner", "action_bind"),
    "text_negation": ("agent_random", "action_adv"),
    "video_negation": ("agent_bind", "action_bind"),
}
"""what a model understands, and where negative captions come from (text-inspired, or from the same video)"""


def _of_items(items: Sequence[Item], facts: Facts) -> Mapping[str, Sequence[str]]:
    """A sample is in the groups of the verbs in its right caption."""
    return {item.item_id: verb_groups(item.texts.get("positive", "")) for item in items}


ANALYSES = Analyses(frozenset({*FACETS, *VERBS}), _of_items)
