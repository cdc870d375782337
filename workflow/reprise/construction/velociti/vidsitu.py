"""VidSitu's annotations: five events of two seconds a video, each a verb with its semantic roles."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reprise.construction.sheets import VIDEO, has_control, shown
from reprise.core.errors import UserError
from reprise.core.tabular import refuse_other_encoding

EVENTS = ("Ev1", "Ev2", "Ev3", "Ev4", "Ev5")
EVENT_S = 2.0
AGENT, MANNER = "Arg0", "ArgM (manner)"
# As the prompts of Figs. 10 to 12 call what VidSitu abbreviates.
SCENE = "Scene of the Event"
ABBREVIATED = re.compile(r"A(?P<short>Dir|Mnr|Loc|Prp|Gol|Tmp|Cau|Ext|Adv)\b\s*(?:\((?P<words>[^)]*)\))?")
IN_FULL = {
    "Dir": "direction", "Mnr": "manner", "Loc": "location", "Prp": "purpose", "Gol": "goal", "Tmp": "temporal",
    "Cau": "cause", "Ext": "extent", "Adv": "adverbial",
}  # fmt: skip


class Event(NamedTuple):
    """One annotated event."""

    video: str
    annotation: int
    event: str
    verb: str
    verb_id: str
    roles: dict[str, str]
    """role, as the prompts call it -> text"""
    start_s: float
    end_s: float

    @property
    def agent(self) -> str:
        """The text of Arg0; empty where it has none."""
        return next((text for role, text in self.roles.items() if role.split()[0] == AGENT), "")

    @property
    def action(self) -> str:
        """What makes two events the same action: the verb, whatever its sense."""
        return (self.verb_id.split(".")[0] or self.verb.split(" (")[0]).strip().lower()

    @property
    def who(self) -> str:
        """Who acts, however it is written."""
        return plain_name(self.agent)


def plain_name(text: str) -> str:
    """A name without article and capitals: VidSitu marks the same entity by the same words."""
    return re.sub(r"^(?:the|a|an)\s+", "", " ".join(text.lower().split()))


def role_name(role: str) -> str:
    """A role of VidSitu as the prompts call it: `AMnr (manner)` becomes `ArgM (manner)`."""
    if role.startswith("AScn"):
        return SCENE
    found = ABBREVIATED.match(role)
    return f"ArgM ({found['words'] or IN_FULL[found['short']]})" if found else role


def read_split(files: Mapping[str, Path], split: str) -> list[str]:
    """The videos of a split, in the order of its file."""
    path = _file(files, f"vseg_split_{split}_lb.json")
    content = _content(path)
    if not isinstance(content, list) or not all(isinstance(name, str) for name in content):
        raise UserError(f"{path}: expected a list of video ids, such as `v_<YouTube id>_seg_<start>_<end>`.")
    return list(dict.fromkeys(content))


def read_events(files: Mapping[str, Path], split: str) -> Iterator[Event]:
    """All annotated events of a split; a broken entry is an error that names it."""
    path = _file(files, f"vsann_{split}_lb.json")
    content = _content(path)
    if not isinstance(content, list):
        raise UserError(f"{path}: expected a list of annotations, each with {', '.join(EVENTS)}.")
    seen: dict[str, int] = {}
    for number, entry in enumerate(content, start=1):
        where = f"{path}: annotation {number}"
        if not isinstance(entry, dict) or not any(isinstance(entry.get(name), dict) for name in EVENTS):
            raise UserError(f"{where}: expected an object with {', '.join(EVENTS)}. Correct the entry or remove it.")
        events = [(name, entry[name]) for name in EVENTS if isinstance(entry.get(name), dict)]
        videos = {str(event.get("vid_seg_int", "")) for _, event in events}
        if len(videos) != 1 or videos == {""}:
            found = ", ".join(sorted(videos))
            raise UserError(f"{where}: its events must be of one video (vid_seg_int), found '{found}'. Correct them.")
        video = videos.pop()
        if not VIDEO.fullmatch(video):
            raise UserError(
                f"{where}: 'vid_seg_int' is '{shown(video)}', expected an id such as v_<YouTube id>_seg_<start>_<end>. "
                "Correct the entry or remove it."
            )
        annotation = seen[video] = seen.get(video, -1) + 1
        for name, event in events:
            yield _event(video, annotation, name, event, where)


def _event(video: str, annotation: int, name: str, event: Mapping[str, Any], where: str) -> Event:
    roles = event.get("Args", {})
    if not isinstance(roles, dict):
        raise UserError(f"{where}: {name}: 'Args' should be an object of roles and texts. Correct the entry.")
    texts = {
        role_name(_text(role, f"{where}: {name}: a role")): _text(text, f"{where}: {name}: '{shown(role)}'")
        for role, text in roles.items()
    }
    verb, verb_id = (_text(event.get(key), f"{where}: {name}: '{key}'") for key in ("Verb", "VerbID"))
    start_s = EVENT_S * EVENTS.index(name)
    found = {role: text for role, text in texts.items() if text}
    return Event(video, annotation, name, verb, verb_id, found, start_s, start_s + EVENT_S)


def _text(value: Any, where: str) -> str:
    """A text on one line; nothing where there is none."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UserError(f"{where} should be a text, found {type(value).__name__}. Correct the entry or remove it.")
    text = " ".join(value.split())
    if has_control(text):
        raise UserError(f"{where} holds control characters: '{shown(text)}'. Correct the entry or remove it.")
    return text


def _content(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        refuse_other_encoding(path)
        raise UserError(f"{path}: not valid JSON ({error}). Correct the file, or fetch it again.") from error


def _file(files: Mapping[str, Path], name: str) -> Path:
    found = [path for path in files.values() if path.name == name]
    if len(found) != 1:
        there = ", ".join(sorted(files)) or "nothing"
        raise UserError(
            f"annotations of VidSitu: expected one file '{name}', found {len(found)} among {there}. "
            "Correct `split:`, `files:` or `annotations:` of `construction:` in the suite."
        )
    return found[0]
