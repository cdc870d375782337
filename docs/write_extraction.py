"""Write docs/reference/extraction.md: how answers are extracted, and the rules of `robust`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from reprise.extraction import rules as extraction_rules
from reprise.extraction.robust import HEAD_CHARS, TAIL_CHARS
from reprise.extraction.rules import Rule

PAGE = "docs/reference/extraction.md"
ANSWERS = Path("tests/data/answers/robust.yaml")
EXAMPLES_PER_ROW = 1
MAX_EXAMPLE_CHARS = 90
HEAD = f"""# How answers are extracted

Written by `make reference` from `workflow/reprise/extraction/rules.py`, which has the patterns, and `{ANSWERS}`.

Two extractors process every answer. `authors` does what the scripts of the benchmark's authors do, mistakes included;
each benchmark's page describes it. `robust` tries the rows of the tables below. **It extracts nothing from an ambiguous
answer**: the answer counts as unparsed, and as wrong in the convention `fixed`. The csv of a table has both results
(`convention`).

For a paper: *"We remove reasoning and markup, and extract the option by the first matching row of a fixed table: a final
statement, a leading label (or Yes or No) or statement, the only label named, the option's text. If rows disagree,
several options are named or the named one is denied, the answer counts as wrong."* Report the
[share of each row](#which-row-extracted-an-answer).

## The steps of `robust`

1. **Clean.** Remove reasoning (up to `</think>`, or after an unclosed `<think>`), Markdown, tags, typographic quotes, and
   dialogue that the model invents ("Question: ..."). Of more than {HEAD_CHARS + TAIL_CHARS:,} characters, keep the first
   {HEAD_CHARS:,} and the last {TAIL_CHARS:,}.
2. **Mark** labels and option texts. A label is `B`, `(B)`, `Caption B` or "the second caption"; for Vinoground's
   segments also "the second clip". These name no option:
   - a list of several options, `A or B`, and a text that two options share;
   - a label beside another option's text (`A. <text of B>`);
   - a denied option ("not A", "A is incorrect", "contradicts A"); with two options, a denial names the other one;
   - questions, conditions ("if ..., A"), "Person A", and descriptions ("caption A shows ...").
3. **Match rows.** The tables below state when a row counts. If a row "the last match counts" matches, its last match
   decides. Otherwise, if rows "all matches must agree" match, all their matches must name the same option. Otherwise, the
   remaining rows are tried in turn. If matches name different options, nothing is extracted.

A "Yes" that is taken back ("Yes, but ...") or only partly right is unparsed. Bounds ("at most 1"), ranges, fractions and
counts in a sentence ("2 dogs") are no ratings.

Limits: labels are `A` to `F`; other option names (`match`, `differ`) must be repeated exactly. Only English is supported.
No extractor sees the question or the video. A one-word option text counts wherever it ends the first sentence: with
options `Left`, `Right` and `Up`, "He picks it up." names `Up`.
"""
TAIL = """
## Which row extracted an answer

`extracted_by` in `results/<suite>/verdicts/<run>/robust.parquet` names the row (`score` if the answer is a probability).
`reprise item <run>` and the report show it. [Health metrics](health.md) (`health_read_by`), `reprise trace` and the
provenance below a table give the shares of a run: "extracted by: leading label 96.1 %, stated 2.0 %, unparsed 1.9 %".

## Add a row

A model or a protocol may have its own rows, tried before the table:

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

A pattern matches the cleaned answer before labels are marked, case-insensitively. Its group `option` holds the option's
name (`A`, `Yes`). If several matches of such rows name different options, the answer is unparsed. Patterns without the
group and patterns that match an empty text are errors. Bound repetitions, such as `[^.]{0,40}`: nested ones, such as
`(a+)+`, can take forever.

Run the same command again; it sends no request. `extracted_by` then says `points at (own row)`, and a footnote of the
table counts these answers.

To add a row for everybody, add a line to `workflow/reprise/extraction/rules.py`. Add a real answer to
`tests/data/answers/robust.yaml` under the row's name, and one that the row must not extract under `unparsed`. Then run
`pytest tests/unit/extraction` and `make reference`.

## Let a model extract the rest

A protocol can send the answers that `robust` leaves unparsed to a model, within the suite's budget:

```yaml
# config/benchmarks/vinoground.yaml
protocols:
  paper.read: {<<: *questions, judge: extract, judge_scope: unparsed, responses_from: paper}
```

1. `judge` names a prompt in `resources/prompts/`, with `{candidate}` (the answer), `{question}` (the prompt), `{options}`
   (a line each) and the item's texts. It should request only the option's name: the table extracts the reply.
2. The model is the first of [the suite's `judges:`](suites.md#judges). `run:` must select it, as
   [every judge](../howto/judges.md).
3. A row with `protocol: paper.read` shows it. It uses the answers to `paper`, also imported ones (`responses_from`).

Empty answers are not sent. `extracted_by: <model>` and a footnote count the model's extractions. The results of `authors`
stay the same.

## Accuracy

TempCompass publishes 15,105 answers of three models with verdicts. Of its choices by letter, yes or no, two captions and
two sentences, `robust` extracts 98.3, 99.8, 99.1 and 99.4 %, empty answers included. It contradicts 8, 0, 8 and 4
verdicts, most of which are wrong themselves.
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
    yield f"## {title}"
    yield ""
    yield "| row | when it counts | example |"
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
