"""Define forms of questions, build requests from them, and select the answers that a judge rates."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from reprise.benchmarks.annotations import Item, group_by_key, to_items
from reprise.benchmarks.prompts import Prompt, fill_template
from reprise.core.schemas import REQUESTS, build_table


class Question(NamedTuple):
    """One request about an item, before the prompt is filled in."""

    role: str
    """name of the question, such as `pos` or `neg`; unique within one item"""
    values: Mapping[str, str]
    """placeholder of the prompt -> its text"""
    options: Sequence[str] = ()
    option_texts: Sequence[str] = ()
    """text of each option, such as a caption; empty if the options are texts themselves"""
    expected: str = ""
    """right option, or reference text"""


@dataclass(frozen=True)
class PerItemForm:
    """A form with one or several questions about every item separately."""

    build_questions: Callable[[Item], Iterable[Question]]
    is_eligible: Callable[[Item], bool] | None = None
    """whether questions are built about an item; if None, about every item"""

    def iter_questions(self, items: Sequence[Item]) -> Iterator[tuple[str, Item, Question]]:
        """Yield subject id, item and question for each question about the items."""
        for item in filter(self.is_eligible, items):
            yield from ((item.item_id, item, question) for question in self.build_questions(item))


@dataclass(frozen=True)
class PerClipForm:
    """A form with one question about all items of a clip; its request has the id of the first item."""

    build_question: Callable[[Sequence[Item]], Question]
    is_eligible: Callable[[Item], bool] | None = None
    """whether the question is also about this item; if None, it is about every item of the clip"""

    def iter_questions(self, items: Sequence[Item]) -> Iterator[tuple[str, Item, Question]]:
        """Yield clip id, first item and question for each clip of the items."""
        items_by_clip = group_by_key(filter(self.is_eligible, items), lambda item: item.clip_id)
        return (
            (clip_id, clip_items[0], self.build_question(clip_items)) for clip_id, clip_items in items_by_clip.items()
        )


QuestionForm: TypeAlias = PerItemForm | PerClipForm
"""A form of question. `iter_questions` yields the id of the subject (item or clip), an item of it, and the question."""


def build_request_row(
    request_id: str, item: Item, question: Question, prompt: Prompt, request_type: str, max_tokens: int
) -> dict[str, Any]:
    """Return the row of one request, with its prompt filled in."""
    return {
        "request_id": request_id,
        "item_id": item.item_id,
        "clip_id": item.clip_id,
        "role": question.role,
        "request_type": request_type,
        "system": fill_template(prompt.system, question.values),
        "prompt": fill_template(prompt.user, question.values),
        "options": question.options,
        "option_texts": question.option_texts,
        "expected": question.expected,
        "max_tokens": max_tokens,
    }


def build_requests(
    form: QuestionForm, items: pl.DataFrame, prompt: Prompt, request_type: str, max_tokens: int
) -> pl.DataFrame:
    """Return the table of requests of a form of question about the items."""
    questions = form.iter_questions(to_items(items))
    rows = [
        build_request_row(f"{subject_id}#{question.role}", item, question, prompt, request_type, max_tokens)
        for subject_id, item, question in questions
    ]
    return build_table(rows, REQUESTS)


UNREADABLE = "unreadable"
"""error of an answer whose reply could not be split into one answer per question"""


class FreeFormAnswer(NamedTuple):
    """The answer to one item. `error` is the model's error, or `unreadable` if its reply could not be split."""

    item_id: str
    role: str
    text: str
    error: str


AnswerSelector: TypeAlias = Callable[[pl.DataFrame, pl.DataFrame, str], list[FreeFormAnswer]]
"""Items, responses (with their clip ids) and the name of an extractor -> one answer per item."""


def select_all_answers(items: pl.DataFrame, responses: pl.DataFrame, extractor: str) -> list[FreeFormAnswer]:
    """Return the responses unchanged, for forms that query every item separately."""
    return list(map(FreeFormAnswer._make, responses.select(FreeFormAnswer._fields).iter_rows()))
