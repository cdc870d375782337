"""The words for events: captions, references by deed, and descriptions of whole clips."""

from synthetic.toyworld.script import ACTION, Action, Agent, Figure, Scene, Script

SURFACES = {"plain": "plain", "stripes": "striped", "checker": "checkered", "gradient": "shaded"}


def _manner(action: Action, strength: str) -> str:
    return action.strong if strength == "strong" else action.weak


def deed_words(action: str, strength: str) -> str:
    """`slides left quickly`."""
    entry = ACTION[action]
    return " ".join(word for word in (entry.verb, entry.direction, _manner(entry, strength)) if word)


def doing_words(action: str, strength: str) -> str:
    """`sliding left quickly`."""
    entry = ACTION[action]
    return f"{entry.gerund} {_manner(entry, strength)}"


def clause(agent: Agent, action: str, strength: str) -> str:
    """`the red circle slides left quickly`."""
    return f"the {agent.name} {deed_words(action, strength)}"


def caption(agent: Agent, action: str, strength: str) -> str:
    """`The red circle slides left quickly.`"""
    return f"The {agent.name} {deed_words(action, strength)}."


def coreference(first: Figure, second: Figure) -> str:
    """Whether one who did the first is the one who did the second."""
    one, other = doing_words(first.action, first.strength), doing_words(second.action, second.strength)
    return f"The thing that is {one} is also the one that is {other}."


def chronology(first: Figure, second: Figure) -> str:
    """Two events in the stated order."""
    return f"First, {clause(*first.deed)}. Then, {clause(*second.deed)}."


def scenery(first: Scene, second: Scene) -> str:
    """Two backgrounds in the stated order."""
    one, other = (f"the background is {SURFACES[scene.pattern]} {scene.tone}" for scene in (first, second))
    return f"First, {one}. Then, {other}."


def description(script: Script) -> str:
    """All events in order; the second of two at once begins with `Meanwhile`."""
    sentences: list[str] = []
    slot = -1
    for event in sorted(script.events, key=lambda event: (event.slot, event.agent)):
        sentences.append(f"Meanwhile, {clause(*event.deed)}." if event.slot == slot else caption(*event.deed))
        slot = event.slot
    return " ".join(sentences)
