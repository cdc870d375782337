"""Group VELOCITI's samples by facets of understanding, kinds of negation, and six groups of actions.

The groups of actions are those of the paper's appendix B.4. The authors sorted the verbs with Gemini-1.5-Pro, but the
paper prints only the names of the groups. This module therefore has its own list of verbs; other verbs are in no group.
"""

import re
from collections.abc import Mapping, Sequence

from reprise.benchmarks.annotations import Item
from reprise.benchmarks.scoring import AnalysisGroups, MetadataByClip

TESTS_BY_FACET = {
    "agent": ("agent_random", "agent_bind", "coref"),
    "action": ("action_adv", "action_manner", "action_bind"),
    "text_negation": ("agent_random", "action_adv"),
    "video_negation": ("agent_bind", "action_bind"),
}
"""facet of understanding, or source of negative captions (text-inspired, or from the same video) -> its tests"""

VERBS_BY_GROUP = {
    "verbs_movement": """
        walk run jump climb crawl dance move turn go come step march ride drive fly swim fall slide spin
        roll swing enter leave exit approach follow chase flee escape rush hurry kneel crouch bow bend lean
        stretch rise dive skate float sink grow shrink
    """,
    "verbs_communication": """
        talk speak say tell ask answer reply shout yell scream whisper sing laugh smile nod wave greet point
        gesture argue explain order warn announce frown grin glare kiss clap salute applaud cheer
    """,
    "verbs_manipulation": """
        hold grab take pick put place pull push open close throw catch lift carry drop give hit punch
        kick slap touch shake cut break tie wipe press pour shoot aim fight stab hug drag knock toss write
        draw type dig load
    """,
    "verbs_perception": """
        look watch see stare gaze observe glance listen hear think read notice examine study search inspect
        remember consider wonder dream peer
    """,
    "verbs_physiological": """
        breathe eat drink sleep cough cry weep bleed blink sweat shiver vomit yawn swallow gasp die faint
        chew smoke sneeze
    """,
    "verbs_states": """
        stand sit lie wait stay live hang burn shine glow rest pose work play appear disappear happen begin
        stop start explode rain
    """,
}
"""group -> its verbs; the paper names the groups physical action and movement, communication and expression,
manipulation and physical interaction, perception and mental activity, physiological actions, and general activities and
states"""


def _inflect(verb: str) -> set[str]:
    """Return the inflections of a verb that captions use, such as "walks" and "walking".

    The last consonant is also doubled, as in "running"; forms that are no words, as "walkking", do no harm.
    """
    stem = verb[:-1] if verb.endswith("e") and not verb.endswith(("ee", "ie")) else verb
    stem = verb[:-2] + "y" if verb.endswith("ie") else stem
    third_person = verb + "es" if verb.endswith(("s", "sh", "ch", "x", "o")) else verb + "s"
    third_person = verb[:-1] + "ies" if re.search("[^aeiou]y$", verb) else third_person
    return {third_person, f"{stem}ing", f"{verb}{verb[-1]}ing"}


_GROUP_BY_INFLECTION = {
    form: group for group, verbs in VERBS_BY_GROUP.items() for verb in verbs.split() for form in _inflect(verb)
}


def find_verb_groups(caption: str) -> list[str]:
    """Return the groups of the verbs in a caption."""
    return sorted(
        {_GROUP_BY_INFLECTION[word] for word in re.findall("[a-z]+", caption.lower()) if word in _GROUP_BY_INFLECTION}
    )


def _assign_groups(items: Sequence[Item], clip_metadata: MetadataByClip) -> Mapping[str, Sequence[str]]:
    """Return the groups of each sample, by the verbs in its right caption."""
    return {item.item_id: find_verb_groups(item.texts.get("positive", "")) for item in items}


# scores.py computes the facets as means over their tests, so no sample is assigned to them.
ANALYSES = AnalysisGroups(frozenset({*TESTS_BY_FACET, *VERBS_BY_GROUP}), _assign_groups)
