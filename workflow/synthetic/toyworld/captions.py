"""Write texts about events: captions, coreferences, and descriptions of whole clips.

An event is a figure that acts in a slot. Its deed is its agent, action and strength.
"""

from synthetic.toyworld.script import ACTION, Action, Agent, Figure, Scene, Script

# Pattern of a background -> adjective for it.
SURFACES = {"plain": "plain", "stripes": "striped", "checker": "checkered", "gradient": "shaded"}


def _manner(action: Action, strength: str) -> str:
    """Return the adverb of an action's strong or weak form."""
    return action.strong if strength == "strong" else action.weak


def format_verb_phrase(action: str, strength: str) -> str:
    """Return an action in the finite form, such as `slides left quickly`."""
    entry = ACTION[action]
    return " ".join(word for word in (entry.verb, entry.direction, _manner(entry, strength)) if word)


def format_gerund_phrase(action: str, strength: str) -> str:
    """Return an action in the gerund form, such as `sliding left quickly`."""
    entry = ACTION[action]
    return f"{entry.gerund} {_manner(entry, strength)}"  # the gerund contains the direction


def clause(agent: Agent, action: str, strength: str) -> str:
    """Return a clause, such as `the red circle slides left quickly`."""
    return f"the {agent.name} {format_verb_phrase(action, strength)}"


def caption(agent: Agent, action: str, strength: str) -> str:
    """Return a sentence, such as `The red circle slides left quickly.`."""
    return f"The {agent.name} {format_verb_phrase(action, strength)}."


def coreference(first: Figure, second: Figure) -> str:
    """Return the statement that the agent of one event is also the agent of the other."""
    first_words, second_words = (
        format_gerund_phrase(first.action, first.strength),
        format_gerund_phrase(second.action, second.strength),
    )
    return f"The thing that is {first_words} is also the one that is {second_words}."


def chronology(first: Figure, second: Figure) -> str:
    """Return the statement that two events happen in this order."""
    return f"First, {clause(*first.deed)}. Then, {clause(*second.deed)}."


def scenery(first: Scene, second: Scene) -> str:
    """Return the statement that two backgrounds follow each other in this order."""
    first_words, second_words = (
        f"the background is {SURFACES[scene.pattern]} {scene.tone}" for scene in (first, second)
    )
    return f"First, {first_words}. Then, {second_words}."


def description(script: Script) -> str:
    """Describe all events in order; the second of two simultaneous events begins with `Meanwhile`."""
    sentences: list[str] = []
    slot = -1
    for event in sorted(script.events, key=lambda event: (event.slot, event.agent)):
        sentences.append(f"Meanwhile, {clause(*event.deed)}." if event.slot == slot else caption(*event.deed))
        slot = event.slot
    return " ".join(sentences)
