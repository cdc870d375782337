"""Ask the questions of the toy releases of Vinoground, TemporalBench and MMBench-Video about training clips."""

from reprise.benchmarks.temporalbench.option_sets import CAPTION_NAMES_BY_SET, LETTERS, build_set_captions
from synthetic.toyworld import captions, mmbench_video, temporalbench, vinoground
from synthetic.toyworld.counterfactuals import candidates
from synthetic.toyworld.generate import Dice, evaluation_stories, training_script
from synthetic.toyworld.script import Script

from training.prompts import THINK, prompts_of
from training.tasks import Joined, Sample, Segment, Task, choice, describe, short_pair, two_event_pair

COUNTERFACTUAL_SHARE = 0.6
SCENERY_SHARE = 0.3


def draw_joined(script: Script, dice: Dice) -> Joined:
    """Draw a clip and its counterfactual or, which is easier, any other clip; in either order."""
    if dice.chance(COUNTERFACTUAL_SHARE):
        counterfactuals = [
            candidate for candidate in candidates(script) if candidate.script.story_digest() not in evaluation_stories()
        ]
        viewpoint_changes = [candidate for candidate in counterfactuals if candidate.major == "viewpoint"]
        counterfactual = dice.pick(
            viewpoint_changes if viewpoint_changes and dice.chance(SCENERY_SHARE) else counterfactuals
        )
        joined = Joined(script, counterfactual.script, (counterfactual.pos, counterfactual.neg))
    else:
        other_script = training_script(dice)
        first_events, second_events = (
            [event for event in clip.events if event.deed not in reference.deeds]
            for clip, reference in ((script, other_script), (other_script, script))
        )
        if not first_events or not second_events:
            return draw_joined(script, dice)
        texts = [captions.caption(*dice.pick(events).deed) for events in (first_events, second_events)]
        joined = Joined(script, other_script, (texts[0], texts[1]))
    if dice.chance(0.5):
        return joined
    return Joined(joined.second, joined.first, joined.captions[::-1])


def which_caption(sample: Sample) -> list[Segment]:
    """Ask TemporalBench's question about a caption and one of its negatives."""
    script, dice = sample.setting.script, sample.dice
    first, second = temporalbench.sample_events(script, dice)
    negative = dice.pick(temporalbench.negatives(first, second, script, dice, training=True))
    question = temporalbench.question(temporalbench.caption((first.deed, second.deed)), negative.text, dice)
    return [Segment(question["question"], question["GT"])]


def which_captions(sample: Sample) -> list[Segment]:
    """Ask TemporalBench's question about a long video: the captions of its clips in a row, one of them false."""
    dice, moments = sample.dice, []
    for script in sample.row:
        first, second = temporalbench.sample_events(script, dice)
        negatives = temporalbench.negatives(first, second, script, dice, training=True)
        moments.append((temporalbench.caption((first.deed, second.deed)), negatives))
    position = dice.below(len(moments))
    positives = [positive for positive, _ in moments]
    negative = [*positives[:position], dice.pick(moments[position][1]).text, *positives[position + 1 :]]
    question = temporalbench.question(" ".join(positives), " ".join(negative), dice)
    return [Segment(question["question"], question["GT"])]


def central_caption(sample: Sample) -> list[Segment]:
    """Ask for the caption among three of its negatives: the one that resembles the others, which needs no video."""
    dice, script = sample.dice, sample.setting.script
    while True:
        first, second = temporalbench.sample_events(script, dice)
        positive = temporalbench.caption((first.deed, second.deed))
        negatives = temporalbench.negatives(first, second, script, dice, training=True)
        texts = build_set_captions(positive, [negative.text for negative in negatives])
        if texts:
            break
        script = training_script(dice)
    options_in_order = dice.shuffled([texts[name] for name in CAPTION_NAMES_BY_SET["centralized"]])
    options = {f"caption_{letter.lower()}": text for letter, text in zip(LETTERS, options_in_order, strict=True)}
    prompt = prompts_of("temporalbench")["four"].user.format(**options)
    return [Segment(prompt, LETTERS[options_in_order.index(positive)])]


def caption_after_examples(sample: Sample) -> list[Segment]:
    """Ask TemporalBench's captioning prompt with three captions of other videos."""
    examples = [captions.description(training_script(sample.dice)) for _ in range(3)]
    return [Segment(temporalbench.CAPTION.format(*examples), captions.description(sample.setting.script))]


def open_question(sample: Sample) -> list[Segment]:
    """Ask one of MMBench-Video's questions."""
    while True:
        maker, _ = sample.dice.pick(mmbench_video.MAKERS)
        question = maker(sample.setting.script, sample.dice)
        if question:
            return [Segment(*question)]


def which_segment(sample: Sample) -> list[Segment]:
    """Ask Vinoground's question about a concatenation, for both of its captions."""
    return [
        Segment(_segment_question(text), letter)
        for text, letter in zip(_require_joined(sample).captions, "AB", strict=True)
    ]


def think_about_segments(sample: Sample) -> list[Segment]:
    """Ask the same question with a description of both segments before the answer."""
    joined = _require_joined(sample)
    descriptions = [captions.description(script) for script in (joined.first, joined.second)]
    position = sample.dice.below(2)
    answer = f"First segment: {descriptions[0]} Second segment: {descriptions[1]} The answer is {'AB'[position]}."
    return [Segment(_segment_question(joined.captions[position]) + THINK, answer)]


def think_about_captions(sample: Sample) -> list[Segment]:
    """Ask Vinoground's question about two captions, with a description before the answer."""
    dice, counterfactuals = sample.dice, candidates(sample.setting.script)
    counterfactual = dice.pick(counterfactuals)
    is_a = dice.chance(0.5)
    texts = (counterfactual.pos, counterfactual.neg) if is_a else (counterfactual.neg, counterfactual.pos)
    answer = f"{captions.description(sample.setting.script)} The answer is {'A' if is_a else 'B'}."
    return [Segment(vinoground.TEXT.format(a=texts[0], b=texts[1]) + THINK, answer)]


def caption_pair_choice(sample: Sample) -> list[Segment]:
    """Ask for Vinoground's two captions at once, the second a counterfactual of the first, in both orders."""
    counterfactual = sample.dice.pick(candidates(sample.setting.script))
    return [
        Segment(vinoground.TEXT.format(a=counterfactual.pos, b=counterfactual.neg), "A"),
        Segment(vinoground.TEXT.format(a=counterfactual.neg, b=counterfactual.pos), "B"),
    ]


def _segment_question(caption: str) -> str:
    return vinoground.VIDEO.format(caption=caption.removesuffix("."))


def _require_joined(sample: Sample) -> Joined:
    assert sample.joined is not None
    return sample.joined


BENCHMARKS: dict[str, Task] = {
    "short": Task(short_pair, 2, 2, 21),
    "long": Task(two_event_pair, 2, 2, 30),
    "choice": Task(choice, 1, 2, 54),
    "describe": Task(describe, 1, 1, 44),
    "which caption": Task(which_caption, 3, 1, 54),
    "caption pair": Task(caption_pair_choice, 1, 2, 54),
    "open": Task(open_question, 4, 1, 48),
}
SPARSE: dict[str, Task] = {name: BENCHMARKS[name] for name in ("which caption", "caption pair", "open")}
EXAMPLES: dict[str, Task] = {"examples": Task(caption_after_examples, 1, 1, 190)}
LONG: dict[str, Task] = {"which captions": Task(which_captions, 6, 1, 124)}
# Without a video the segment includes two tokens of the prefix.
CENTRAL: dict[str, Task] = {"central caption": Task(central_caption, 8, 1, 92)}
SUBTITLED: dict[str, Task] = {"open": BENCHMARKS["open"]}
THINKING: dict[str, Task] = {"think": Task(think_about_captions, 2, 1, 100)}
JOINED: dict[str, Task] = {"which segment": Task(which_segment, 1, 2, 30)}
THINKING_JOINED: dict[str, Task] = {**JOINED, "think": Task(think_about_segments, 1, 1, 124)}
