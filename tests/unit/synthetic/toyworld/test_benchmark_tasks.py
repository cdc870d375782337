"""What training asks in the words of the other benchmarks: true answers, nothing held out, no evaluation clip."""

import re
from pathlib import Path

import pytest
from reprise.benchmarks.temporalbench.option_sets import edits
from reprise.media.subtitles import read_vtt
from synthetic.toyworld import mmbench_video, vinoground
from synthetic.toyworld.generate import Dice, evaluation_stories, training_script
from synthetic.toyworld.image_choice import still_of
from synthetic.toyworld.pairs import Setting
from synthetic.toyworld.script import ACTION_NAMES, AGENTS, is_held_out
from training.batches import Encoder, Shows, batch_kinds, make_batch
from training.benchmark_tasks import (
    caption_pair_choice,
    central_caption,
    draw_joined,
    open_question,
    think_about_captions,
    think_about_segments,
    which_caption,
    which_captions,
    which_segment,
)
from training.pictures import picture_choice
from training.prompts import LATER_PHRASES, THINK, prompts
from training.schedule import TUNE, VIDEO_TOKENS
from training.tasks import Sample
from training.tokenizer import build_tokenizer

from tests.unit.synthetic.toyworld.claims import EVENT, MANNERS, VERBS, is_true

CAPTIONS = re.compile(r"\nA[.)] (?P<a>.+)\nB[.)] (?P<b>.+)\n")
TWO_EVENTS = re.compile(r"First, .+?\. Then, .+?\.")
SEGMENT = re.compile(r"Caption: (?P<caption>.+\.) A\. First segment")


def samples(count: int, joined: bool = False) -> list[Sample]:
    found = []
    for number in range(count):
        dice = Dice(31, number)
        script, other = training_script(dice), training_script(dice)
        found.append(Sample(Setting(script, other, True), dice, 1.0, draw_joined(script, dice) if joined else None))
    return found


def test_the_letter_names_the_caption_that_is_true() -> None:
    judged = 0
    for sample in samples(60):
        for make in (which_caption, caption_pair_choice):
            for segment in make(sample):
                texts = CAPTIONS.search(segment.user)
                assert texts, segment.user
                if "background" in segment.user or "blinks" in segment.user:  # read by no claim checker
                    continue
                true = {letter: is_true(texts[letter.lower()], sample.setting.script) for letter in "AB"}
                assert true == {segment.answer: True, "BA"["AB".index(segment.answer)]: False}
                judged += 1
    assert judged > 60


def test_the_letter_names_the_segment_that_the_caption_is_true_of() -> None:
    judged = 0
    for sample in samples(60, joined=True):
        for segment in which_segment(sample):
            found = SEGMENT.search(segment.user)
            assert found and sample.joined
            if "background" in found["caption"]:
                continue
            true = [is_true(found["caption"], script) for script in (sample.joined.first, sample.joined.second)]
            assert true == [segment.answer == "A", segment.answer == "B"]
            judged += 1
    assert judged > 40


def test_the_letter_names_the_captions_that_are_all_true_of_a_long_video() -> None:
    judged = 0
    for sample in samples(60):
        row = (sample.setting.script, training_script(sample.dice), training_script(sample.dice))
        (segment,) = which_captions(sample._replace(row=row))
        texts = CAPTIONS.search(segment.user)
        assert texts
        if "blinks" in segment.user:  # read by no claim checker
            continue
        true = {letter: all(map(is_true, TWO_EVENTS.findall(texts[letter.lower()]), row)) for letter in "AB"}
        assert true == {segment.answer: True, "BA"["AB".index(segment.answer)]: False}
        judged += 1
    assert judged > 5


def test_the_central_caption_is_the_one_that_each_other_differs_least_from() -> None:
    letters = set()
    for sample in samples(40):
        (segment,) = central_caption(sample)
        options = re.findall(r"\n[ABCD]\. (.+)", segment.user)
        distances = [sum(len(edits(one, other)) for other in options) for one in options]
        assert distances["ABCD".index(segment.answer)] == min(distances)
        letters.add(segment.answer)
    assert letters == set("ABCD")


def test_the_letter_names_what_is_right_about_a_picture_in_both_orders() -> None:
    for sample in samples(80):
        still = still_of(sample.setting.script)
        one, other = picture_choice(sample)
        texts = [dict(re.findall(r"\n([ABCD])\. (.+)", segment.user)) for segment in (one, other)]
        right = texts[0][one.answer]
        assert right == texts[1][other.answer] and sorted(texts[0].values()) == sorted(texts[1].values())
        here = [figure.agent for figure in still.figures]
        if "What colour is the" in one.user:
            assert right in {agent.colour for agent in here}
        if "Which of these is in the picture?" in one.user:
            assert [text for text in texts[0].values() if text.removeprefix("a ") in {a.name for a in here}] == [right]
        if "Which pattern" in one.user:
            assert right == still.scene.pattern


def test_subtitles_say_what_the_release_says_and_are_of_one_length(tmp_path: Path) -> None:
    tokenizer = build_tokenizer()
    batch = make_batch(Encoder(tokenizer, VIDEO_TOKENS), "subtitled", 4, (4, 1), 1.0)
    assert len({tokenizer.decode(ids) for ids in batch.prefix}) == 4
    script = training_script(Dice(31, 1))
    path = tmp_path / "toy.vtt"
    path.write_text(mmbench_video.subtitles(script), encoding="utf-8")
    assert read_vtt(path) == mmbench_video.spoken(script)


def test_thoughts_end_on_the_letter_that_the_question_alone_asks_for() -> None:
    for sample in samples(20, joined=True):
        for make in (think_about_captions, think_about_segments):
            (segment,) = make(sample)
            assert segment.user.endswith(THINK)
            assert re.fullmatch(r".+ The answer is [AB]\.", segment.answer)


def test_no_concatenation_shows_what_an_evaluation_clip_shows() -> None:
    for sample in samples(80, joined=True):
        assert sample.joined
        for script in (sample.joined.first, sample.joined.second):
            assert script.story_digest() not in evaluation_stories()


def test_nothing_held_out_is_named() -> None:
    names = {agent.name: agent for agent in AGENTS}
    for sample in samples(50, joined=True):
        for make in (which_caption, caption_pair_choice, central_caption, open_question, which_segment,
                     think_about_segments):  # fmt: skip
            for segment in make(sample):
                for event in EVENT.finditer(f"{segment.user} {segment.answer}"):
                    agent = names[f"{event['colour']} {event['shape']}"]
                    assert not is_held_out(agent, VERBS[event["verb"]])
    assert set(VERBS.values()) == set(ACTION_NAMES) and MANNERS


@pytest.mark.parametrize("kind", sorted(set(TUNE)))
def test_every_kind_of_the_last_stage_makes_batches(kind: str) -> None:
    batch = make_batch(Encoder(build_tokenizer(), VIDEO_TOKENS), kind, 3, (4, 0), 1.0)
    assert batch.groups and all(group.kinds.any() for group in batch.groups)
    assert len(batch.prefix) == len(batch.frames)
    match batch_kinds()[kind].shows:
        case Shows.JOINED:
            assert batch.frames.shape[1] == 22
            assert not batch.frames[:, 10:12].any()
        case Shows.ROW:
            assert batch.frames.shape[1] in range(34, 43, 2)
        case Shows.STILL:
            assert (batch.frames == batch.frames[:, :1]).all()


def test_a_phrase_of_the_other_benchmarks_is_one_token_and_changes_no_older_prompt() -> None:
    tokenizer = build_tokenizer()
    assert all(len(tokenizer(phrase)["input_ids"]) == 1 for phrase in LATER_PHRASES)
    first_later = min(tokenizer(phrase)["input_ids"][0] for phrase in LATER_PHRASES)
    for prompt in prompts().values():
        assert max(tokenizer(prompt.user)["input_ids"]) < first_later
    assert vinoground.VIDEO.startswith("Which video segment")
