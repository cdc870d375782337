"""What training asks: true answers, nothing held out, no evaluation clip."""

import re

from synthetic.toyworld.generate import Dice, evaluation_stories, training_script
from synthetic.toyworld.pairs import Setting
from synthetic.toyworld.script import Agent, is_held_out
from training.benchmark_tasks import (
    caption_pair_choice,
    central_caption,
    draw_joined,
    open_question,
    think_about_segments,
    which_caption,
    which_segment,
)
from training.tasks import MIX, REASON, Sample

from tests.unit.synthetic.toyworld.claims import EVENT, VERBS, is_true

CAPTIONS = re.compile(r"\nA[.)] (?P<a>.+)\nB[.)] (?P<b>.+)\n")


def samples(count: int) -> list[Sample]:
    found = []
    for number in range(count):
        dice = Dice(31, number)
        script, other = training_script(dice), training_script(dice)
        found.append(Sample(Setting(script, other, True), dice, 1.0, draw_joined(script, dice)))
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


def test_training_never_shows_or_names_a_held_out_pair_nor_what_an_evaluation_clip_shows() -> None:
    tasks = [task.make for task in (*MIX.values(), *REASON.values())]
    tasks += [which_caption, caption_pair_choice, central_caption, open_question, which_segment, think_about_segments]
    for sample in samples(100):
        script, joined = sample.setting.script, sample.joined
        assert joined and not any(is_held_out(event.agent, event.action) for event in script.events)
        assert not evaluation_stories() & {one.story_digest() for one in (script, joined.first, joined.second)}
        for segment in (segment for make in tasks for segment in make(sample)):
            for event in EVENT.finditer(f"{segment.user} {segment.answer}"):
                assert not is_held_out(Agent(event["colour"], event["shape"]), VERBS[event["verb"]])
