"""Forms of questions, how a question becomes a request to a model, and the answers that a judge is asked about."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from reprise.benchmarks.prompts import Prompt, fill
from reprise.benchmarks.rows import Item, grouped, items_of
from reprise.core.schemas import REQUESTS, table_of


class Question(NamedTuple):
    """One request about an item, before the prompt is filled in."""

    role: str
    """which question about the item it is, such as `pos` or `neg`; unique for one item"""
    values: Mapping[str, str]
    """placeholder of the prompt -> its text"""
    options: Sequence[str] = ()
    option_texts: Sequence[str] = ()
    """the text of each option, such as a caption; none if the option is its own text"""
    expected: str = ""
    """the right option, or the text to come close to"""


@dataclass(frozen=True)
class EachItem:
    """Asks about every item separately, with one question or several."""

    ask: Callable[[Item], Iterable[Question]]
    is_asked: Callable[[Item], bool] | None = None

    def questions(self, items: Sequence[Item]) -> Iterator[tuple[str, Item, Question]]:
        for item in filter(self.is_asked, items):
            yield from ((item.item_id, item, question) for question in self.ask(item))


@dataclass(frozen=True)
class EachClip:
    """Asks about all items of a clip at once; the request names the first of them."""

    ask: Callable[[Sequence[Item]], Question]
    is_asked: Callable[[Item], bool] | None = None

    def questions(self, items: Sequence[Item]) -> Iterator[tuple[str, Item, Question]]:
        by_clip = grouped(filter(self.is_asked, items), lambda item: item.clip_id)
        return ((clip_id, members[0], self.ask(members)) for clip_id, members in by_clip.items())


Form: TypeAlias = EachItem | EachClip
"""A form of question. `questions` gives, for each, the id of its subject, an item of its clip, and the question."""


def request_row(
    request_id: str, item: Item, question: Question, prompt: Prompt, ask: str, max_tokens: int
) -> dict[str, Any]:
    return {
        "request_id": request_id,
        "item_id": item.item_id,
        "clip_id": item.clip_id,
        "role": question.role,
        "ask": ask,
        "system": fill(prompt.system, question.values),
        "prompt": fill(prompt.user, question.values),
        "options": question.options,
        "option_texts": question.option_texts,
        "expected": question.expected,
        "max_tokens": max_tokens,
    }


def request_table(form: Form, items: pl.DataFrame, prompt: Prompt, ask: str, max_tokens: int) -> pl.DataFrame:
    asked = form.questions(items_of(items))
    rows = [request_row(f"{of}#{one.role}", item, one, prompt, ask, max_tokens) for of, item, one in asked]
    return table_of(rows, REQUESTS)


UNREADABLE = "unreadable"


class FreeAnswer(NamedTuple):
    """The answer to one item; `error` is the model's, or `unreadable` where a reader finds no answer in its reply."""

    item_id: str
    role: str
    text: str
    error: str


FreeAnswers: TypeAlias = Callable[[pl.DataFrame, pl.DataFrame, str], list[FreeAnswer]]
"""Items, responses (with their clip ids) and a reader -> one answer per item."""


def answers_as_given(items: pl.DataFrame, responses: pl.DataFrame, reader: str) -> list[FreeAnswer]:
    """The responses as they are, for forms that ask about every item separately."""
    return list(map(FreeAnswer._make, responses.select(FreeAnswer._fields).iter_rows()))
