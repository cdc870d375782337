"""The whole chain on the toy world, whose truth is known: no negative caption is true, no positive one false."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.velociti.release import read_release
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.construction.settings import ReviewSettings
from reprise.construction.velociti.candidates import Candidates, candidates
from reprise.construction.velociti.captions import WRITTEN_FILTERS
from reprise.construction.velociti.release import FILE, release
from reprise.construction.velociti.requests import requests
from reprise.construction.velociti.review import review
from reprise.construction.velociti.samples import Made, samples
from reprise.construction.velociti.statistics import TABLE11, filter_counts, statistics
from reprise.core.keyfile import Key
from reprise.core.schemas import REQUESTS, RESPONSES, table_of
from reprise.core.yaml_files import load_yaml
from reprise.models.asking.failures import Failures
from reprise.models.asking.journal import Journal
from reprise.models.base import Adapter, Answer, Clip, Request
from reprise.models.keys import RunKey
from reprise.models.local.stand_ins.templates import Templates
from reprise.models.local.text import TextAdapter
from reprise.stages.infer import ask_all, gather_text_work
from synthetic.reviewer import is_true, scripts, verdict
from synthetic.toyworld.generate import Dice, evaluation_stories, training_script
from synthetic.toyworld.velociti import write_release

from tests.unit.asked import spec
from tests.unit.construction.worlds import PROMPTS, ROOT, replies, settings, tables, written

SUITE = load_yaml(ROOT / "config/suites/construction.yaml")["benchmarks"]["velociti"]["construction"]
HOW = settings(**{name: SUITE[name] for name in ("videos", "per_video", "verbs_left_out")})
WRITER = Templates(spec(**load_yaml(ROOT / "config/models/toy-writer.yaml")["settings"]))


def reply(system: str, prompt: str) -> str:
    asked = Request("r", "i", "1", "write", system, prompt, (), "", 256)
    [answer] = WRITER.answers(Clip("c", None, (), ()), [asked])
    return answer.text


@pytest.fixture(scope="module")
def annotations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("toy")
    write_release(folder)
    return {path.name: path for path in folder.rglob("*.json")}


@pytest.fixture(scope="module")
def found(annotations: dict[str, Path]) -> Candidates:
    return candidates(annotations, HOW)


@pytest.fixture(scope="module")
def made(found: Candidates) -> Made:
    return written(found, reply, HOW)


def test_every_sample_agrees_with_the_script(annotations: dict[str, Path]) -> None:
    everything = settings(verbs_left_out=HOW.verbs_left_out)
    rows = [row for row in written(candidates(annotations, everything), reply, everything).samples if not row["filter"]]
    assert Counter(row["test"] for row in rows).keys() == {CONTROL, *TESTS} and len(rows) > 2000
    wrong = [
        row
        for row in rows
        if not is_true(row["positive"], scripts()[row["video"]]) or is_true(row["negative"], scripts()[row["video"]])
    ]
    assert wrong == []


def test_a_truth_that_is_turned_round_would_be_noticed(made: Made) -> None:
    row = next(row for row in made.samples if row["test"] == "coref" and not row["filter"])
    shown = {"video": row["video"], "event": row["event"], "positive": row["positive"], "negative": row["negative"]}
    assert verdict(shown) == "both fit"
    assert verdict(shown | {"positive": row["negative"], "negative": row["positive"]}) == "both are wrong"


def test_ids_stay_when_annotations_come_in_another_order(
    annotations: dict[str, Path], tmp_path: Path, made: Made
) -> None:
    moved = dict(annotations)
    for name in ("vsann_valid_lb.json", "vseg_split_valid_lb.json"):
        moved[name] = tmp_path / name
        moved[name].write_text(json.dumps(json.loads(annotations[name].read_text())[::-1]))
    again = written(candidates(moved, HOW), reply, HOW)
    first = {row["sample_id"]: row["positive"] for row in made.samples if row["test"] != CONTROL}
    assert len(first) == len([row for row in made.samples if row["test"] != CONTROL])
    both = {row["sample_id"]: row["positive"] for row in again.samples if row["sample_id"] in first}
    assert len(both) > 0.8 * len(first)  # a second annotation that comes first describes other events
    assert all(first[name] == text for name, text in both.items())


def test_no_sample_is_in_the_training_set(made: Made) -> None:
    stories = {scripts()[row["video"]].story_digest() for row in made.samples}
    assert stories <= evaluation_stories()
    assert all(training_script(Dice(7, number)).story_digest() not in stories for number in range(200))


def reviewed(found: Candidates, made: Made, **how: object) -> dict[str, pl.DataFrame]:
    own = HOW.model_copy(update={"review": ReviewSettings(verdicts=SUITE["review"]["verdicts"], **how)})
    here = tables(found._asdict()) | tables(made._asdict())
    done = review(here, sorted(ROOT.glob(SUITE["review"]["verdicts"])), own)
    assert done.problems == []
    return here | tables({"reviewed": done.reviewed, "votes": done.votes})


def test_the_verdicts_of_the_repository_are_on_today_s_samples(found: Candidates, made: Made) -> None:
    here = reviewed(found, made)
    kept = here["reviewed"].filter(pl.col("filter") == "")
    assert kept.height == len([row for row in made.samples if not row["filter"]]) > 300
    assert kept["votes"].min() == 1


def test_the_release_is_read_by_the_unchanged_reader(found: Candidates, made: Made, tmp_path: Path) -> None:
    here = reviewed(found, made)
    text = release(here, HOW)[FILE]
    assert text == release(here | {"reviewed": here["reviewed"].reverse()}, HOW)[FILE]
    (tmp_path / FILE).write_text(text)
    read = read_release([tmp_path / FILE], "ids", {})
    assert len(read.items) == text.count("\n") - 1 and not any(item.flaws for item in read.items)
    assert len({item.item_id for item in read.items}) == len(read.items)


def test_numbers_stand_beside_the_paper_s(found: Candidates, made: Made) -> None:
    here = reviewed(found, made)
    rows = {(row["what"], row["group"]): (row["paper"], row["ours"]) for row in statistics(here, HOW)}
    assert rows[("videos with a caption", "all")] == (864, 24)
    assert rows[("videos and captions, before the tests", "all")][0] == 3101
    assert [rows[("captions judged", one)][0] for one in ("positive", "neutral", "negative")] == [356, 21, 3]
    judged = here["votes"]["verdict"].to_list()
    good = 100 * (1 - judged.count("negative") / len(judged))
    assert rows[("captions judged", "positive or neutral, %")] == (99.2, pytest.approx(good))
    events = here["pool"].filter(pl.col("filter") == "").join(here["reviewed"], on="video", how="semi")
    roles = events["roles"].list.len()  # the verb is no role
    assert rows[("roles of an event (Fig. 14c)", "4 or more, %")] == (70, pytest.approx(100 * (roles >= 4).mean()))
    for test, numbers in TABLE11.items():
        assert (rows[("videos (Table 11)", test)][0], rows[("samples (Table 11)", test)][0]) == numbers
        assert 0 < rows[("samples (Table 11)", test)][1] <= 2 * 24
    counts = filter_counts(here)
    assert all(row["entered"] - row["dropped"] == row["left"] for row in counts)
    assert [row["left"] for row in counts][-1] == here["reviewed"].filter(pl.col("filter") == "").height


class Ending:
    """A writer, killed at one of its questions."""

    def __init__(self, last: int, writer: Adapter = WRITER) -> None:
        self.asked: list[str] = []
        self._last, self._writer = last, writer

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        for one in requests:
            if len(self.asked) == self._last:
                raise KeyboardInterrupt
            self.asked.append(one.request_id)
            yield from self._writer.answers(clip, [one])


def test_a_kill_in_mid_writing_asks_nothing_twice(found: Candidates, tmp_path: Path) -> None:
    asked = requests(tables(found._asdict()), [], PROMPTS, HOW)
    works = gather_text_work(table_of(asked, REQUESTS))
    answers = {"adapter": "templates", "sampling": {"rule": "none"}}
    key = RunKey.model_validate({"run": "toy-writer as writer of velociti", "key": "k", "answers": answers})
    assert isinstance(key.answers, Key)
    first, second = Ending(100), Ending(10**6)
    with pytest.raises(KeyboardInterrupt):
        ask_all(works, first, Journal(tmp_path / "j.jsonl"), Failures(tmp_path / "f.jsonl", 3), key)
    rows, _ = ask_all(works, second, Journal(tmp_path / "j.jsonl"), Failures(tmp_path / "f.jsonl", 3), key)
    assert len(first.asked) == 100 and len(rows) == len(asked)
    prompts = {one["request_id"]: (one["system"], one["prompt"]) for one in asked}
    sent = [prompts[name] for name in (*first.asked, *second.asked)]
    assert len(sent) == len(set(sent)) and set(sent) == set(prompts.values())
    whole = replies(asked, reply)
    assert [row["text"] for row in rows] == whole["text"].to_list()


def test_the_demo_s_text_model_writes_nothing_that_can_be_used_and_is_asked_nothing_twice(
    found: Candidates, tmp_path: Path
) -> None:
    model = TextAdapter(spec(ROOT / "resources/demo/checkpoints/qwen2-text"))
    asked = requests(tables(found._asdict()), [], PROMPTS, HOW.model_copy(update={"max_tokens": 4}))[:12]
    works = gather_text_work(table_of(asked, REQUESTS))
    answers = {"adapter": "text", "sampling": {"rule": "none"}}
    key = RunKey.model_validate({"run": "toy-text as writer of velociti", "key": "k", "answers": answers})
    first, second = Ending(random.randrange(1, len(asked)), model), Ending(10**6, model)
    with pytest.raises(KeyboardInterrupt):
        ask_all(works, first, Journal(tmp_path / "j.jsonl"), Failures(tmp_path / "f.jsonl", 1), key)
    rows, _ = ask_all(works, second, Journal(tmp_path / "j.jsonl"), Failures(tmp_path / "f.jsonl", 1), key)
    assert len(rows) == len(asked) == len({*first.asked, *second.asked}) == len([*first.asked, *second.asked])
    done = samples(tables(found._asdict()), [table_of(rows, RESPONSES)], PROMPTS, HOW)
    tried = [row for row in done.written if row["rounds"]]
    assert len(tried) == len(asked) and all(row["filter"] in WRITTEN_FILTERS and row["why"] for row in tried)
    assert {row["filter"] for row in done.samples} == {"not_written"}


def test_the_writer_knows_only_its_words() -> None:
    asked = Request("r", "i", "1", "write", "", "{'Verb': 'fly (flying)',\n'Arg0 (agent)': 'the red star'}", (), "", 9)
    [answer] = WRITER.answers(Clip("c", None, (), ()), [asked])
    assert (answer.error, answer.text) == ("failed", "") and "no words for fly (flying)" in answer.message
