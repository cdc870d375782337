"""Write docs/reference/extraction.md: how answers are extracted, and the rules and patterns of `robust`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from reprise.extraction import rules as extraction_rules
from reprise.extraction.robust import HEAD_CHARS, TAIL_CHARS
from reprise.extraction.rules import Rule

PAGE = "docs/reference/extraction.md"
ANSWERS = Path("tests/data/answers/robust.yaml")
EXAMPLES_PER_ROW = 2
MAX_EXAMPLE_CHARS = 90
HEAD = f"""# How answers are extracted

Written by `make reference` from `workflow/reprise/extraction/rules.py` and `{ANSWERS}`.

Two extractors process every answer. `authors` does what the scripts of the benchmark's authors do, mistakes included;
the page of each benchmark describes it. `robust` tries the ordered rows of the table below on the cleaned answer.
**If an answer is ambiguous, it extracts nothing**: the answer counts as unparsed, and as wrong in the convention
`fixed`. The csv of a table has both results (`convention`).

For a paper: *"We remove reasoning and markup, and extract the option by the first matching row of a fixed table: a final
statement, a leading label (or Yes or No) or statement, the only label named, the option's text. If rows disagree,
several options are named or the named one is denied, the answer counts as wrong."* Report the
[share of each row](#which-row-extracted-an-answer).

## The steps

1. **Clean.** Remove text up to `</think>`, or after a `<think>` that never ends. Remove Markdown, tags, typographic
   quotes, and a dialogue that a model invents ("Question: ..."). Of more than {HEAD_CHARS + TAIL_CHARS:,} characters, keep the
   first {HEAD_CHARS:,} and the last {TAIL_CHARS:,}.
2. **Mark** labels and options' texts (options by letter). A label is `B`, `(B)`, `Caption B` or "the second caption";
   of Vinoground's segments also "the second clip". These name no option:
   - a list that goes through several options, `A or B`, a text that two options share;
   - a label beside another option's text (`A. <text of B>`);
   - a denied option ("not A", "A is incorrect", "contradicts A"); if one of two options is denied, it names the other;
   - questions, conditions ("if ..., A"), "Person A", and "caption A shows ...", which only describes.
3. **Match rows.** The last hit of a row of the kind "the last hit counts" comes before all others. Otherwise all hits of
   the rows "all hits must agree" must name one option. Otherwise the remaining rows are tried one by one. Hits of
   different options extract nothing.

Yes and No have rows of their own. A "Yes" that is taken back ("Yes, but ...") or is only partly right is unparsed.
Ratings (0 to 3, or 0 to 5) work alike: bounds ("at most 1", "> 1"), ranges, fractions and counts inside a sentence
("2 dogs") are no ratings.

Limits: labels are `A` to `F`; options of other names (`match`, `differ`) must be repeated exactly. No extractor sees the
question or the video. Only English is supported. An option's text of one word counts wherever it ends the first
sentence: of `Left`, `Right` and `Up`, "He picks it up." names `Up`.
"""
TAIL = """
## Which row extracted an answer

`extracted_by` in `results/<suite>/verdicts/<run>/robust.parquet` names the row (`score` if the answer is a probability).
`reprise item <run>` and the report show it beside the answer. The shares of a run are [health metrics](health.md)
(`health_read_by`, in `results/<suite>/health.csv` for all runs). `reprise trace` and the provenance below a table print
them, such as "extracted by: leading label 96.1 %, stated 2.0 %, unparsed 1.9 %".

## Add a row

A protocol or a model may have its own rows, tried before the table:

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

A pattern matches the cleaned answer before labels are marked, case-insensitively. Its group `option` holds the option's name
(`A`, `Yes`). All hits of such rows must name the same option; otherwise the answer is unparsed and the table is not
tried. An invalid pattern, one without the group, or one that matches an empty text is refused. Bound repetitions, such
as `[^.]{0,40}`: nested ones, such as `(a+)+`, can take forever.

Run the same command again. No request is sent again. `extracted_by` says `points at (own row)`, and a footnote of the table
counts these answers.

To add a row for everybody, write a line into `workflow/reprise/extraction/rules.py`. Add a real answer to
`tests/data/answers/robust.yaml` under the row's name, and one that it must not extract under `unparsed`.
`pytest tests/unit/extraction` tests them, and `make reference` writes this page.

## Let a model extract the rest

A protocol can send what `robust` leaves unparsed to a model, within the suite's budget and with the response cache:

```yaml
# config/benchmarks/vinoground.yaml
protocols:
  paper.read: {<<: *questions, judge: extract, judge_scope: unparsed, answers_of: paper}
```

1. `judge` names a prompt in `resources/prompts/`. It may use `{candidate}` (the answer), `{question}` (the prompt),
   `{options}` (a line each) and the item's texts. It should request only the option's name: the table reads the reply.
2. The model is the first of [the suite's `judges:`](suites.md#judges), and `run:` names it too, as
   [every judge](../howto/judges.md).
3. A row with `protocol: paper.read` shows it. Both protocols share the answers to `paper`, also imported ones
   (`answers_of`).

Empty answers are not sent. `extracted_by: <model>` and a footnote count the model's extractions. The results of `authors`
stay the same. `judge_scope: all`, the default, sends every answer to the judge.

## Accuracy

TempCompass publishes 15,105 answers of three models, each with a verdict: choices by letter, yes or no, two captions,
two sentences; empty answers included. Of these four kinds, `robust` extracts 98.3, 99.8, 99.1 and 99.4 %. It
contradicts the stored verdict 8, 0, 8 and 4 times; most of these verdicts are themselves in error.
"""


def page(root: Path) -> str:
    """Return the whole page."""
    groups = yaml.safe_load((root / ANSWERS).read_text(encoding="utf-8"))
    letters = [group for group in groups if "A" in group.get("options", ())]
    yes_no = [group for group in groups if "Yes" in group.get("options", ())]
    ratings = [group for group in groups if "scale" in group]
    return "\n".join(
        [
            HEAD,
            *_section("Options by letter", extraction_rules.CHOICE_RULES, letters),
            f"| {extraction_rules.NEAR_MATCH} | the words of one option in order, each nearly the same "
            f"| {_examples(letters, extraction_rules.NEAR_MATCH)} |",
            "",
            *_section("Yes and No", extraction_rules.YES_NO_RULES, yes_no),
            "",
            *_section("Ratings", extraction_rules.RATING_RULES, ratings),
            "",
            *_patterns(),
            TAIL,
        ]
    )


POLICY_TEXTS = {"last": "the last hit counts", "agreeing": "all hits must agree", "alone": "if no row above hits"}


def _section(title: str, rows: Sequence[Rule], groups: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield "| row | | such as |"
    yield "|---|---|---|"
    for name in dict.fromkeys(row.name for row in rows):
        policy = next(row.match_policy for row in rows if row.name == name)
        yield f"| {name} | {POLICY_TEXTS[policy]} | {_examples(groups, name)} |"


def _examples(groups: Sequence[dict[str, Any]], name: str) -> str:
    examples = [(answer, value) for group in groups for answer, value in group["rows"].get(name, {}).items()]
    short_examples = [example for example in examples if len(example[0]) <= MAX_EXAMPLE_CHARS][:EXAMPLES_PER_ROW]
    return "; ".join(
        f"`{answer.strip()}`: {value}".replace("\n", " ").replace("|", "\\|") for answer, value in short_examples
    )


def _patterns() -> Iterator[str]:
    yield "## The patterns"
    yield ""
    yield "`«B»` is a marked label, `‹B›` a marked text, `~` one inside a sentence, `*` several options at once."
    yield ""
    yield "```text"
    for title, patterns in (("names", extraction_rules.NAMES), ("denials", extraction_rules.DENIALS)):
        yield from (f"{title}: {pattern}" for pattern in patterns)
    for rows in (extraction_rules.CHOICE_RULES, extraction_rules.YES_NO_RULES, extraction_rules.RATING_RULES):
        yield from (f"{row.name}: {row.pattern}" for row in rows)
    yield "```"
