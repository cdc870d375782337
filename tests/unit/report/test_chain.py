"""What a number was made from: every step with the settings that it was made under, texts whole."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.core.files import text_digest, write_text
from reprise.core.paths import Results
from reprise.core.schemas import CLIP_LEDGER, REQUESTS, write_table
from reprise.report.chain import LONGEST_LIST, MOST_FILES, Chains, Fact
from reprise.report.keys import Origin

from tests.unit.report.world import RUN, clip

PROMPT = "Watch the video.\n" + "Does it fit {caption}? " * 60


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results("small", tmp_path / "results")


def behind(**known: Any) -> Origin:
    return Origin(run=RUN, shards=2, **known)


def test_the_steps_stand_in_the_order_in_which_they_are_made(results: Results) -> None:
    names = [made.name for made in Chains(results).of(behind(weights=("one", "judge"), environments={"one": "vllm"}))]
    assert names == [
        "release", "annotations", "sources", "clips", "facts", "frame plan", "requests", "weights", "environment",
        "answers", "verdicts", "metrics",
    ]  # fmt: skip
    elsewhere = [made.name for made in Chains(results).of(behind(imported=True, facts=False))]
    assert elsewhere == ["release", "annotations", "requests", "answers", "verdicts", "metrics"]
    judged = behind(judge="judge", weights=("judge",))
    assert [made.name for made in Chains(results).of(judged)][-5:] == [
        "questions to the judge", "weights", "replies of the judge", "verdicts", "metrics",
    ]  # fmt: skip


def test_a_prompt_is_told_whole_and_a_long_list_is_cut(results: Results) -> None:
    key, requests = results.key("requests", "velociti", "entail"), results.requests("velociti", "entail")
    text = json.dumps({"prompt": {"system": "", "user": PROMPT}, "items": ["item"] * 500, "none": None})
    write_text(key, text)
    write_table(pl.DataFrame(schema=REQUESTS), requests, REQUESTS, {str(key): text_digest(text)[:16]})
    (made,) = (one for one in Chains(results).of(behind()) if one.name == "requests")
    (used,) = made.keys
    assert (used.path, used.changed) == ("results/small/keys/requests/velociti/entail.json", False)
    found = dict(used.settings)
    assert found["prompt.user"] == PROMPT and set(found) == {"prompt.user", "items"}
    assert len(found["items"]) < LONGEST_LIST + 30 and found["items"].endswith("... (4000 characters)")
    write_text(key, json.dumps({"prompt": {"user": "Another."}}))
    (made,) = (one for one in Chains(results).of(behind()) if one.name == "requests")
    assert made.keys[0].changed, "the file says something else than when the table was made"


def test_what_was_released_and_what_became_of_clips(results: Results) -> None:
    write_text(results.release("velociti"), json.dumps([{"name": "a.csv", "path": "release/a.csv", "sha256": "ab"}]))
    for shard, status in enumerate(("ok", "gone")):
        rows = pl.DataFrame([clip(f"c{shard}", status)], schema=CLIP_LEDGER)
        write_table(rows, results.ledger("clips", "velociti", shard), CLIP_LEDGER)
    made = {one.name: one for one in Chains(results).of(behind())}
    assert made["release"].facts == [Fact("release/a.csv", "sha256 ab")] and made["release"].gone == 0
    assert made["clips"].facts == [Fact("status", "1 ok, 1 gone")] and len(made["clips"].files) == 2
    assert made["sources"].gone == 2 and made["sources"].facts == []
    many = [{"name": "a", "path": f"{number}.vtt", "sha256": "ab"} for number in range(MOST_FILES + 3)]
    write_text(results.release("velociti"), json.dumps(many))
    release, *_ = Chains(results).of(behind())
    assert len(release.facts) == MOST_FILES + 1 and release.facts[-1] == Fact("and", "3 more files")
