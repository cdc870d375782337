"""Write docs/reference/readers.md: how answers are extracted, with the rules and patterns of the extractor `robust`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from reprise.reading import table
from reprise.reading.robust import HEAD as FIRST
from reprise.reading.robust import TAIL as LAST
from reprise.reading.table import Row

PAGE = "docs/reference/readers.md"
ANSWERS = Path("tests/data/answers/robust.yaml")
EXAMPLES_PER_ROW = 2
MAX_CHARACTERS = 90  # of an example
HEAD = f"""# How answers are read

Written by `make reference` from `workflow/reprise/reading/table.py` and `{ANSWERS}`.

Every answer is read twice, and every table can be had for both readings (`convention` in the csv). `authors` does what the scripts of the benchmark's
authors do, mistakes included; each benchmark's page says what that is. `robust` tries the ordered rows of the table below on the cleaned answer, and
**where in doubt it reads nothing**: the answer counts as `unread`, and as wrong in the convention `fixed`.

For a paper: *"An answer is cleaned of thoughts and markup and read by the first fitting row of a fixed table: a final statement, a leading label (or Yes or
No) or statement, the only label named, the option's text. Where rows disagree, several options are named or the named one is denied, the answer is unread and
counts as wrong."* What share each row read is in the csv ([below](#every-reading-says-how)).

## What is done

1. **Clean.** What stands before `</think>` goes, and what follows a `<think>` that never ends. Markdown, tags and typographic quotes go (in the options'
   texts too), and a dialogue that a model goes on with ("Question: ..."). Of an answer of more than {FIRST + LAST:,} characters the first {FIRST:,} and the last {LAST:,} are read.
2. **Mark** (options by letter). A label (`B`, `(B)`, `Caption B`, "the second caption"; of Vinoground's segments also "the second clip") and the text of
   an option become marks. A list that goes through several options is the question again and is left out; `A or B` is none of them, and so is a label
   beside another option's text (`A. <text of B>`), or a text that two options share. A denied option ("not A", "A is incorrect", "contradicts A") is no hit;
   of two options of which one is denied, the other may be read. Questions, conditions ("if ..., A"), what cannot be told and "Person A" name nothing, and
   "caption A shows ..." only describes.
3. **Rows.** Of the rows that count `last`, the last hit of all counts before any other (a final answer over what is named on the way). Else all hits of the
   rows that must agree must say the same option; else the rows that are asked alone are tried one by one. Hits of different options read nothing.

Yes and No are read by rows of their own. A leading "Yes" that is taken back ("Yes, but ...", "Yes. The caption does not match.") is unread, and so is what is
right only in part. Ratings (0 to 3, or 0 to 5) are rows of the same kind: bounds ("at most 1", "> 1"), ranges, fractions and counts inside a
sentence ("2 dogs") are none.

Labels are `A` to `F`; options of other names (`match`, `differ`) must be given back as they are. No reader sees the question or the video, and none reads
other languages than English. A text of one word is read wherever it ends the first sentence: of `Left`, `Right` and `Up`, "He picks it up." names `Up`.
"""
TAIL = """
## Every reading says how

`read_by` in `results/<suite>/verdicts/<run>/robust.parquet` names the row (`score` where the answer is a probability); `reprise item <run>` and the report
show it beside the answer. The shares of a run are in its [health](health.md) (`health_read_by`), so that a run whose usual row is rare is seen at once:
`reprise trace` and the provenance below a table print them, and `results/<suite>/health.csv` has those of all runs, such as "read by: leading label 96.1 %, stated 2.0 %, unread 1.9 %".

## Add a row

A protocol or a model may have rows of its own, tried before the table:

```yaml
# config/models/<slug>.yaml: for all that this model answers
patterns:
  - {name: points at, pattern: 'i point at (?P<option>[ab])\\b'}
```

```yaml
# config/benchmarks/<benchmark>.yaml: for what any model answers to this protocol
protocols:
  paper:
    patterns:
      - {name: points at, pattern: 'i point at (?P<option>[ab])\\b'}
```

A pattern is tried on the cleaned answer, before labels are marked, and case is ignored; the group `option` holds the option's name (`A`, `Yes`). All hits of
the rows of one's own must name the same option: else, or where a hit names none, the answer is unread and the table is not asked. A pattern that cannot
compile, has no such group or fits an empty text is refused with file and key when the configuration is read. Bound what repeats, such as `[^.]{0,40}`: a repeated
repeat, such as `(a+)+`, can take for ever.

Run the same command again: such rows are part of the verdicts' key, and no answer is asked again. `read_by` says `points at (own row)`, and a note below the
table counts what they read.

A row for everybody is a line of `workflow/reprise/reading/table.py`, with a real answer for it in `tests/data/answers/robust.yaml` under the row's name (and
one that it must not read under `unread`). `pytest tests/unit/reading` tries them, and `make reference` writes this page.

## What no row reads, a model can

A protocol may put what `robust` leaves unread to a model, as Vinoground's chains of thought are put to a judge: off by default, within the suite's budget,
journaled like every answer.

```yaml
# config/benchmarks/vinoground.yaml
protocols:
  paper.read: {<<: *questions, judge: extract, judge_reads: unread, answers_of: paper}
```

1. `judge` names a prompt of the benchmark's file of prompts (`resources/prompts/`). It may use `{candidate}` (the answer), `{question}` (what the model was
   asked), `{options}` (a line each) and the item's texts, and should ask for the option's name alone: the reply is read by the table.
2. The model is the first of [the suite's `judges:`](suites.md#judges), and is named in `run:` too, as [every judge](../howto/judges.md).
3. A table shows it where a row says `protocol: paper.read`. The answers to `paper` are asked once for both; `answers_of` says the same of imported ones.

An empty answer is put to nobody. The model's readings are counted by its name (`read_by: <model>`), and a note below the table says how many there were; the
authors' readings stay what they are. `judge_reads: all`, the default, puts every answer to the judge.

## How good it is

On the 15,105 answers of three models that TempCompass publishes with a verdict each (choices by letter, yes or no, two captions, two sentences; empty
answers included), it reads 98.3, 99.8, 99.1 and 99.4 %, and contradicts the stored verdict 8, 0, 8 and 4 times; most of these verdicts are themselves
in error. The engine of 4,200 lines before it read 97.2, 99.6, 98.2 and 98.9 % and contradicted 10, 0, 9 and 3.
"""


def page(root: Path) -> str:
    """Return the whole page."""
    groups = yaml.safe_load((root / ANSWERS).read_text(encoding="utf-8"))
    return "\n".join(
        [
            HEAD,
            *_section(
                "Options by letter", table.CHOICE, _select_groups(groups, lambda group: "A" in group.get("options", ()))
            ),
            f"| {table.NEARLY} | the words of one option in order, each nearly the same "
            f"| {_examples(_select_groups(groups, lambda group: 'A' in group.get('options', ())), table.NEARLY)} |",
            "",
            *_section(
                "Yes and No", table.WORD, _select_groups(groups, lambda group: "Yes" in group.get("options", ()))
            ),
            "",
            *_section("Ratings", table.RATING, _select_groups(groups, lambda group: "scale" in group)),
            "",
            *_patterns(),
            TAIL,
        ]
    )


def _select_groups(groups: Sequence[dict[str, Any]], predicate: Any) -> list[dict[str, Any]]:
    return [group for group in groups if predicate(group)]


WORDS = {"last": "the last hit counts", "agreeing": "all hits must agree", "alone": "where none above hits"}


def _section(title: str, rows: Sequence[Row], groups: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield "| row | | such as |"
    yield "|---|---|---|"
    for name in dict.fromkeys(row.name for row in rows):
        takes = next(row.takes for row in rows if row.name == name)
        yield f"| {name} | {WORDS[takes]} | {_examples(groups, name)} |"


def _examples(groups: Sequence[dict[str, Any]], name: str) -> str:
    examples = [(answer, value) for group in groups for answer, value in group["rows"].get(name, {}).items()]
    short_examples = [example for example in examples if len(example[0]) <= MAX_CHARACTERS][:EXAMPLES_PER_ROW]
    return "; ".join(
        f"`{answer.strip()}`: {value}".replace("\n", " ").replace("|", "\\|") for answer, value in short_examples
    )


def _patterns() -> Iterator[str]:
    yield "## The patterns"
    yield ""
    yield "`«B»` is a marked label, `‹B›` a marked text, `~` one inside a sentence, `*` several options at once."
    yield ""
    yield "```text"
    for title, patterns in (("names", table.NAMES), ("denials", table.DENIALS)):
        yield from (f"{title}: {pattern}" for pattern in patterns)
    for rows in (table.CHOICE, table.WORD, table.RATING):
        yield from (f"{row.name}: {row.pattern}" for row in rows)
    yield "```"
