"""What VidSitu's annotations say is true of each video: so that no negative caption is true."""

import re
from collections import defaultdict
from collections.abc import Iterable

from reprise.construction.velociti.vidsitu import Event, plain_name

# Words for anybody: such an agent may be any other one.
ANYBODY = frozenset(
    {"person", "people", "someone", "somebody", "they", "he", "she", "it", "them", "him", "her", "others"}
)
NUMBERED = re.compile(r"Arg\d")
SMALL = frozenset({"a", "an", "the", "in", "on", "with", "of", "and", "wearing", "who", "is", "his", "her", "their"})


def words(name: str) -> frozenset[str]:
    """The words of a name that say who it is."""
    return frozenset(plain_name(name).replace(",", " ").split()) - SMALL


def may_be(one: str, other: str) -> bool:
    """Whether two names can be of the same: one says no more than the other ("man" and "man in a shirt")."""
    first, second = words(one), words(other)
    return first <= second or second <= first or not ANYBODY.isdisjoint((plain_name(one), plain_name(other)))


class World:
    """All events of all annotations, by video."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._events: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            self._events[event.video].append(event)

    def of(self, video: str) -> list[Event]:
        """The events of a video."""
        return self._events[video]

    def names(self, video: str) -> list[str]:
        """All that is named in a video, agents and what they act on."""
        return [text for event in self.of(video) for role, text in event.roles.items() if NUMBERED.match(role)]

    def actions(self, video: str) -> set[str]:
        """The verbs of a video."""
        return {event.action for event in self.of(video)}

    def does(self, video: str, agent: str, action: str) -> bool:
        """Whether somebody who may be the agent does this in the video, by any annotation."""
        return any(event.action == action and may_be(event.agent, agent) for event in self.of(video) if event.agent)

    def starts(self, video: str, agent: str, action: str) -> list[float]:
        """When."""
        found = [one for one in self.of(video) if one.agent and one.action == action and may_be(one.agent, agent)]
        return [event.start_s for event in found]
