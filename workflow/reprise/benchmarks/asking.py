"""Define forms of questions, build requests from them, and select the answers that a judge rates."""

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
    """which question about the item it is, such as `pos` or `neg`; unique within one item"""
    values: Mapping[str, str]
    """placeholder of the prompt -> its text"""
    options: Sequence[str] = ()
    option_texts: Sequence[str] = ()
    """text of each option, such as a caption; empty if the options are texts themselves"""
    expected: str = ""
    """right option, or reference text"""


@dataclass(frozen=True)
class EachItem:
    """A form with one or several questions about every item separately."""

    ask: Callable[[Item], Iterable[Question]]
    is_asked: Callable[[Item], bool] | None = None

    def questions(self, items: Sequence[Item]) -> Iterator[tuple[str, Item, Question]]:
        """Yield subject id, item and question for each question about the items."""
        for item in filter(self.is_asked, items):
            yield from ((item.item_id, item, question) for question in self.ask(item))


@dataclass(frozen=True)
class EachClip:
    """A form with one question about all items of a clip; its request names the first of them."""

    ask: Callable[[Sequence[Item]], Question]
    is_asked: Callable[[Item], bool] | None = None

    def questions(self, items: Sequence[Item]) -> Iterator[tuple[str, Item, Question]]:
        """Yield clip id, first item and question for each clip of the items."""
        by_clip = grouped(filter(self.is_asked, items), lambda item: item.clip_id)
        return ((clip_id, members[0], self.ask(members)) for clip_id, members in by_clip.items())


Form: TypeAlias = EachItem | EachClip
"""A form of question. Its `questions` yield the id of the subject, an item of its clip, and the question."""


def request_row(
    request_id: str, item: Item, question: Question, prompt: Prompt, ask: str, max_tokens: int
) -> dict[str, Any]:
    """Return the row of one request, with its prompt filled in."""
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
    """Return the requests of a form of question about the items."""
    questions = form.questions(items_of(items))
    rows = [
        request_row(f"{subject_id}#{question.role}", item, question, prompt, ask, max_tokens)
        for subject_id, item, question in questions
    ]
    return table_of(rows, REQUESTS)


UNREADABLE = "unreadable"


class FreeAnswer(NamedTuple):
    """The answer to one item. `error` is the model's error, or `unreadable` if its reply could not be split."""

    item_id: str
    role: str
    text: str
    error: str


FreeAnswers: TypeAlias = Callable[[pl.DataFrame, pl.DataFrame, str], list[FreeAnswer]]
"""Items, responses (with their clip ids) and an extraction rule -> one answer per item."""


def answers_as_given(items: pl.DataFrame, responses: pl.DataFrame, reader: str) -> list[FreeAnswer]:
    """Return the responses unchanged, for forms that query every item separately."""
    return list(map(FreeAnswer._make, responses.select(FreeAnswer._fields).iter_rows()))
