"""The dictionaries that the writer is shown: an event's roles, or the same with an agent or a deed replaced."""

from typing import NamedTuple

from reprise.construction.draws import rank
from reprise.construction.filters import Row
from reprise.construction.velociti.vidsitu import AGENT, MANNER, Event

CAPTION = "caption"


class Dictionary(NamedTuple):
    """One dictionary, the prompt that it is written by, and what a replacement must differ from."""

    event: Event
    prompt: str = CAPTION
    known: tuple[str, ...] = ()
    original: Event | None = None
    """the event that it makes a false caption of"""

    @property
    def text(self) -> str:
        """As in Figs. 10 to 12."""
        entries = {"Verb": self.event.verb, **self.event.roles}
        return "{" + ",\n".join(f"'{name}': '{text}'" for name, text in entries.items()) + "}"

    @property
    def source(self) -> str:
        """What the writer is to replace."""
        is_manner = self.prompt == "action_manner"
        return f"'ArgM (manner)': '{manner_of(self.event)}'" if is_manner else f"'Verb': '{self.event.verb}'"


class Texts:
    """The texts to be written; the same dictionary is asked about once, whatever video it is of."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}

    def name(self, one: Dictionary) -> str:
        """The id of the text of a dictionary."""
        name = f"{one.prompt}/{rank(0, one.text, *one.known)[:16]}"
        instead_of = "" if one.original is None else self.name(Dictionary(one.original))
        self._rows.setdefault(
            name,
            {
                "text_id": name,
                "kind": one.prompt,
                "video": one.event.video,
                "agent": one.event.agent,
                "values": [{"name": "srl", "text": one.text}, {"name": "source", "text": one.source}],
                "known": list(one.known),
                "instead_of": instead_of,
            },
        )
        return name

    def rows(self) -> list[Row]:
        return list(self._rows.values())


def manner_of(event: Event) -> str:
    """The text of ArgM (manner); empty where the event has none."""
    return event.roles.get(MANNER, "")


def with_agent(event: Event, agent: str) -> Dictionary:
    """The event done by another."""
    roles = {role: agent if role.split()[0] == AGENT else text for role, text in event.roles.items()}
    return Dictionary(event._replace(roles=roles), original=event)


def with_deed(event: Event, other: Event) -> Dictionary:
    """The agent of one event, with the verb and the modifiers of another."""
    roles = {role: event.agent if role.split()[0] == AGENT else text for role, text in other.roles.items()}
    return Dictionary(other._replace(roles=roles), original=event)
