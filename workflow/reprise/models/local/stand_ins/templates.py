"""A writer that is no language model: it puts the words of a dictionary into a sentence, by the words in its settings.

It stands in where none runs, so that a benchmark can be made without one. It knows only the words that it is given, and
fails the question about any other verb.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

from reprise.models.base import Answer, Clip, ModelSpec, Request
from reprise.models.settings import Replacement, TemplatesSettings, VerbWords

DICTIONARY = re.compile(r"\{'Verb':.*?\}", re.DOTALL)
ENTRY = re.compile(r"'([^']+)': ?'(.*?)'(?=[,}\n])")
SENSE = re.compile(r"\((.*)\)")
FALSE = re.compile(r"Write at most (\d+) false captions .*?Caption: ([^\n]+)", re.DOTALL)
CHANGED = re.compile(r"True caption: ([^\n]+)\nFalse caption: ([^\n]+)")
TWO_EVENTS = re.compile(r"First, (.+?)\. Then, (.+)\.")


class Templates:
    """Captions by a template: who, what by the settings' words, and in which manner."""

    def __init__(self, spec: ModelSpec) -> None:
        settings = TemplatesSettings.model_validate(spec.settings)
        self._verbs, self._pairs, self._replacements = settings.verbs, settings.pairs, settings.replacements

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            found = DICTIONARY.findall(request.prompt)
            false = replaced(request.prompt, request.system, self._replacements)
            if false is not None:
                yield Answer(text=false)
            elif found:
                yield self._about(dict(ENTRY.findall(found[-1])), request)
            else:  # ten pairs of captions that the prompt does not hold yet
                pairs = [f'"{one}" vs "{other}"' for one, other in self._pairs]
                new = [pair for pair in pairs if pair not in request.prompt][:10]
                yield Answer(text="\n".join(f"{place}. {pair}" for place, pair in enumerate(new, 1)))

    def _about(self, roles: Mapping[str, str], request: Request) -> Answer:
        """A caption of a dictionary, or one with its verb or its manner replaced, as the prompt wants it."""
        sense = SENSE.search(roles["Verb"])
        verb = self._verbs.get(sense[1] if sense else roles["Verb"])
        agent = next((text for role, text in roles.items() if role.startswith("Arg0")), "")
        manner = roles.get("ArgM (manner)", "")
        if verb is None or manner not in verb.manners or not agent:
            return Answer(error="failed", message=f"no words for {roles['Verb']} ({manner or 'no manner'})")
        if "verb misalignment" in request.system:
            others = sorted(name for name, words in self._verbs.items() if words != verb)
            drawn = int.from_bytes(hashlib.sha256(request.prompt.encode()).digest()[:6])
            name = others[drawn % len(others)]
            manner = self._verbs[name].manners[verb.manners.index(manner)]
            return _written(agent, self._verbs[name], manner, name)
        if "manner misalignment" in request.system:
            opposite = verb.manners[1 - verb.manners.index(manner)]
            return _written(agent, verb, opposite, opposite)
        return _written(agent, verb, manner)


def _written(agent: str, verb: VerbWords, manner: str, target: str = "") -> Answer:
    caption = f"{agent[0].upper()}{agent[1:]} {verb.says} {manner}."
    lines = [f"Target: {target}", ""] if target else []
    return Answer(text="\n".join([*lines, f"Naive Caption: {caption}", "", f"Fluent Caption: {caption}"]))


def replaced(prompt: str, system: str, replacements: Sequence[Replacement]) -> str | None:
    """The reply to a prompt about false captions, which have words replaced, or two events told in the other order;
    nothing if it is about something else."""
    if asked := CHANGED.search(prompt):
        fitting = [one.category for one in replacements if asked[2] in _other_words(asked[1], [one])]
        return fitting[0] if fitting else "Others"
    if asked := FALSE.search(prompt):
        told = TWO_EVENTS.fullmatch(asked[2])
        found = list(_other_words(asked[2], replacements))
        if "the order of two events is reversed" in system:
            found = [f"First, {told[2]}. Then, {told[1]}."] if told else []
        return "\n".join(f"{place}. {text}" for place, text in enumerate(found[: int(asked[1])], start=1))
    return None


def _other_words(caption: str, replacements: Sequence[Replacement]) -> Iterator[str]:
    for one in replacements:
        for match in re.finditer(rf"\b{re.escape(one.says)}\b", caption):
            yield caption[: match.start()] + one.instead + caption[match.end() :]
