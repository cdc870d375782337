"""Write docs/reference/extraction.md: how answers are extracted, and the rules of `robust`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from reprise.extraction import rules as extraction_rules
from reprise.extraction.robust import HEAD_CHARS, TAIL_CHARS
from reprise.extraction.rules import Rule

PAGE = "docs/reference/extraction.md"
# Answers by the rule that extracts them, in groups with the same options or scale; the tests use them too.
ANSWERS = Path("tests/data/answers/robust.yaml")
EXAMPLES_PER_ROW = 1
MAX_EXAMPLE_CHARS = 90
HEAD = f"""# How answers are extracted

Written by `make reference` from `workflow/reprise/extraction/rules.py`, which has the patterns, and `{ANSWERS}`.

If a model answers in words, an *extractor* must find the option in the text. Two extractors process every answer:

- `authors` does what the scripts of the benchmark's authors do, including their mistakes. Each benchmark's page
  describes it.
- `robust` tries the rules in the tables below. **If an answer is ambiguous, it extracts nothing**: the answer is unparsed.

A table shows the results of `robust`. The csv file of the table has both results (column `extractor`).

You can describe `robust` in a paper as follows: *"We remove reasoning and markup, and extract the option by the first
matching row of a fixed table: a final statement, a leading label (or Yes or No) or statement, the only label named, the
option's text. If rows disagree, several options are named or the named one is denied, the answer counts as wrong."* Also
report [how many answers each row extracted](#which-row-extracted-an-answer).

## The steps of `robust`

1. **Clean the answer.** Reasoning is removed (everything up to `</think>`, or after a `<think>` that is not closed). So are
   Markdown, tags, typographic quotes, and a dialogue that the model invents ("Question: ..."). If more than
   {HEAD_CHARS + TAIL_CHARS:,} characters are left, only the first {HEAD_CHARS:,} and the last {TAIL_CHARS:,} are kept.
2. **Mark labels and option texts.** A label is `B`, `(B)`, `Caption B` or "the second caption". For Vinoground's segments,
   "the second clip" is a label too. The following do not count as naming an option:
   - a list of several options, `A or B`, and a text that two options share;
   - a label beside the text of another option (`A. <text of B>`);
   - a denied option ("not A", "A is incorrect", "contradicts A"). If there are two options, a denial names the other one;
   - questions, conditions ("if ..., A"), "Person A", and descriptions ("caption A shows ...").
3. **Try the rows of the tables below.** The second column says when a row counts.
   - First come the rows with "the last match counts". If one of them matches, its last match decides.
   - If none of them matches, the rows with "all matches must agree" are tried. All their matches must name the same option.
   - If none of these matches either, the remaining rows are tried, one after another.
   - If the matches name different options, nothing is extracted.

If a "Yes" is taken back ("Yes, but ...") or is only partly right, the answer is unparsed. Bounds ("at most 1"), ranges,
fractions and counts in a sentence ("2 dogs") do not count as ratings.

`robust` has these limits:

- Labels are `A` to `F`. Other names of options (`match`, `differ`) must be repeated exactly.
- It supports English only.
- It sees neither the question nor the video.
- If an option's text is a single word, this word counts wherever it ends the first sentence. With the options `Left`,
  `Right` and `Up`, the answer "He picks it up." therefore names `Up`.
"""
TAIL = """
## Which row extracted an answer

For each answer, column `extracted_by` of `results/<suite>/verdicts/<run>/robust.parquet` has the name of the row. It is
`score` if the model gave probabilities. `reprise item <run>` and the report show it too.

For a whole run, the notes below a table say how many answers each row extracted: "extracted by: leading label 96.1 %,
stated 2.0 %, unparsed 1.9 %". `reprise trace` and [health metrics](health.md) (`health_read_by`) have the same numbers.

## Add a row

A model may answer in a form that no row matches. You can add rows for a model or for a protocol. They are tried before the
tables:

```yaml
# config/models/<slug>.yaml: for all answers of this model
patterns:
  - {name: points at, pattern: 'i point at (?P<option>[ab])\\b'}
```

```yaml
# config/benchmarks/<benchmark>.yaml: for all answers to this protocol
protocols:
  paper:
    patterns:
      - {name: points at, pattern: 'i point at (?P<option>[ab])\\b'}
```

A pattern is a regular expression:

- It is applied to the cleaned answer, before labels are marked. Upper and lower case are equal.
- It must have a group `option`, which matches the name of the option (`A`, `Yes`). It must not match an empty text.
- If the matches of your rows name different options, the answer is unparsed.
- Limit repetitions, as in `[^.]{0,40}`. Nested repetitions, such as `(a+)+`, can take forever.

Then run the same `snakemake` command again. It sends no request. `extracted_by` now says `points at (own row)` for these
answers, and a footnote of the table counts them.

To add a row for all models, add a line to `workflow/reprise/extraction/rules.py`. In `tests/data/answers/robust.yaml`, add
a real answer under the row's name, and under `unparsed` an answer that the row must not extract. Then run
`pytest tests/unit/extraction` and `make reference`.

## Let a model extract the rest

A language model can extract the option from answers that `robust` leaves unparsed. Add a protocol such as this:

```yaml
# config/benchmarks/vinoground.yaml
protocols:
  paper.read: {<<: *questions, judge: extract, judge_scope: unparsed, responses_from: paper}
```

1. `judge` names a prompt in `resources/prompts/`. It can contain `{candidate}` (the answer), `{question}` (the prompt),
   `{options}` (one per line) and the item's texts. It should ask for the name of the option only, because the tables above
   are applied to the reply.
2. The model is the first of [the suite's `judges:`](suites.md#judges). As [every judge](../howto/judges.md), it must be
   selected by `run:`. If it is a vendor's model, it uses the suite's budget.
3. Add a row with `protocol: paper.read` to a table. It uses the answers to the protocol `paper` (`responses_from`), which
   may also be imported.

Empty answers are not sent to the model. Column `extracted_by` names the model where it extracted the option, and a
footnote counts these answers. The results of the extractor `authors` do not change.

## Accuracy

The benchmark TempCompass publishes 15,105 answers of three models, with a verdict on each. We applied `robust` to them:

| kind of question in TempCompass | answers from which `robust` extracts an option (of all, including empty ones) | published verdicts that it contradicts |
|---|---|---|
| choice by letter | 98.3 % | 8 |
| yes or no | 99.8 % | 0 |
| choice between two captions | 99.1 % | 8 |
| choice between two sentences | 99.4 % | 4 |

Most of the contradicted verdicts are themselves wrong.
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
            TAIL,
        ]
    )


POLICY_TEXTS = {
    "last": "the last match counts",
    "agreeing": "all matches must agree",
    "alone": "if no row above matches",
}


def _section(title: str, rows: Sequence[Rule], groups: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a heading and a table with a line for each name of a rule; several rules may share a name."""
    yield f"## {title}"
    yield ""
    yield "| row | when it counts | example of an answer, and the option |"
    yield "|---|---|---|"
    for name in dict.fromkeys(row.name for row in rows):
        policy = next(row.match_policy for row in rows if row.name == name)
        yield f"| {name} | {POLICY_TEXTS[policy]} | {_examples(groups, name)} |"


def _examples(groups: Sequence[dict[str, Any]], name: str) -> str:
    """Return short answers from which the rules of this name extract an option, each with the option."""
    examples = [(answer, option) for group in groups for answer, option in group["rows"].get(name, {}).items()]
    short_examples = [(answer, option) for answer, option in examples if len(answer) <= MAX_EXAMPLE_CHARS]
    return "; ".join(
        f"`{answer.strip()}`: {option}".replace("\n", " ").replace("|", "\\|")
        for answer, option in short_examples[:EXAMPLES_PER_ROW]
    )
