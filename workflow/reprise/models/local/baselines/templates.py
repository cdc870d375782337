"""Write captions without a language model, by inserting the entries of a dictionary into a sentence.

This baseline makes it possible to construct a benchmark where no language model can run. It uses only the words in its
settings, and questions about any other verb fail.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

from reprise.models.base import Answer, ClipFrames, ModelSpec, Request
from reprise.models.settings import Replacement, TemplatesSettings, VerbWords

# Parts of the prompts for constructing VELOCITI: a dictionary of roles, an entry of it, and the sense of its verb.
DICTIONARY = re.compile(r"\{'Verb':.*?\}", re.DOTALL)
ENTRY = re.compile(r"'([^']+)': ?'(.*?)'(?=[,}\n])")
VERB_SENSE = re.compile(r"\((.*)\)")
# Parts of the prompts for constructing TemporalBench: a request for false captions, and a false caption to classify.
FALSE_CAPTION_TASK = re.compile(r"Write at most (\d+) false captions .*?Caption: ([^\n]+)", re.DOTALL)
CHANGED_CAPTION = re.compile(r"True caption: ([^\n]+)\nFalse caption: ([^\n]+)")
# A caption of two events in their order.
TWO_EVENTS = re.compile(r"First, (.+?)\. Then, (.+)\.")


class TemplateCaptioner:
    """Write captions that consist of an agent, the configured words for the verb, and a manner."""

    def __init__(self, spec: ModelSpec) -> None:
        settings = TemplatesSettings.model_validate(spec.settings)
        self._verbs, self._pairs, self._replacements = settings.verbs, settings.pairs, settings.replacements

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            dictionaries = DICTIONARY.findall(request.prompt)
            reply = build_replacement_reply(request.prompt, request.system, self._replacements)
            if reply is not None:
                yield Answer(text=reply)
            elif dictionaries:
                yield self._write_caption(dict(ENTRY.findall(dictionaries[-1])), request)
            else:  # up to ten pairs of captions that the prompt does not contain
                pairs = [f'"{caption}" vs "{counterfactual}"' for caption, counterfactual in self._pairs]
                unused = [pair for pair in pairs if pair not in request.prompt][:10]
                yield Answer(text="\n".join(f"{number}. {pair}" for number, pair in enumerate(unused, 1)))

    def _write_caption(self, roles: Mapping[str, str], request: Request) -> Answer:
        """Return a caption for a dictionary, with the verb or the manner replaced if the system text requests it."""
        sense = VERB_SENSE.search(roles["Verb"])
        verb = self._verbs.get(sense[1] if sense else roles["Verb"])
        agent = next((text for role, text in roles.items() if role.startswith("Arg0")), "")
        manner = roles.get("ArgM (manner)", "")
        if verb is None or manner not in verb.manners or not agent:
            return Answer(error="failed", message=f"no words for {roles['Verb']} ({manner or 'no manner'})")
        if "verb misalignment" in request.system:
            alternatives = sorted(verb_name for verb_name, words in self._verbs.items() if words != verb)
            digest_number = int.from_bytes(hashlib.sha256(request.prompt.encode()).digest()[:6])
            verb_name = alternatives[digest_number % len(alternatives)]
            manner = self._verbs[verb_name].manners[verb.manners.index(manner)]
            return _format_captions(agent, self._verbs[verb_name], manner, verb_name)
        if "manner misalignment" in request.system:
            opposite = verb.manners[1 - verb.manners.index(manner)]
            return _format_captions(agent, verb, opposite, opposite)
        return _format_captions(agent, verb, manner)


def _format_captions(agent: str, verb: VerbWords, manner: str, target: str = "") -> Answer:
    """Return a caption in the format of VELOCITI's prompts; `target` is the replacement of the verb or the manner."""
    caption = f"{agent[0].upper()}{agent[1:]} {verb.says} {manner}."
    lines = [f"Target: {target}", ""] if target else []
    return Answer(text="\n".join([*lines, f"Naive Caption: {caption}", "", f"Fluent Caption: {caption}"]))


def build_replacement_reply(prompt: str, system: str, replacements: Sequence[Replacement]) -> str | None:
    """Return the reply to a prompt about false captions; None for any other prompt.

    False captions contain replaced words, or two events in reversed order.
    """
    if pair := CHANGED_CAPTION.search(prompt):
        true_caption, false_caption = pair.groups()
        categories = [
            replacement.category
            for replacement in replacements
            if false_caption in _apply_replacements(true_caption, [replacement])
        ]
        return categories[0] if categories else "Others"
    if task := FALSE_CAPTION_TASK.search(prompt):
        max_count, true_caption = int(task[1]), task[2]
        events = TWO_EVENTS.fullmatch(true_caption)
        captions = list(_apply_replacements(true_caption, replacements))
        if "the order of two events is reversed" in system:
            captions = [f"First, {events[2]}. Then, {events[1]}."] if events else []
        return "\n".join(f"{number}. {text}" for number, text in enumerate(captions[:max_count], start=1))
    return None


def _apply_replacements(caption: str, replacements: Sequence[Replacement]) -> Iterator[str]:
    """Yield the caption with one of its words replaced, for each possible replacement."""
    for replacement in replacements:
        for match in re.finditer(rf"\b{re.escape(replacement.says)}\b", caption):
            yield caption[: match.start()] + replacement.instead + caption[match.end() :]
