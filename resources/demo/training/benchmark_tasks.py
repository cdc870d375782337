"""What the toy releases of Vinoground, TemporalBench and MMBench-Video ask, about training clips."""

from reprise.benchmarks.temporalbench.option_sets import LETTERS, OPTION_SETS, captions_of
from synthetic.toyworld import captions, mmbench_video, temporalbench, vinoground
from synthetic.toyworld.counterfactuals import candidates
from synthetic.toyworld.generate import Dice, evaluation_stories, training_script
from synthetic.toyworld.script import Script

from training.prompts import THINK, prompts_of
from training.tasks import Joined, Sample, Segment, Task, choice, describe, short_pair, two_event_pair

COUNTERFACTUAL_SHARE = 0.6
SCENERY_SHARE = 0.3


def draw_joined(script: Script, dice: Dice) -> Joined:
    """A clip and its counterfactual, or, which is easier, a clip and any other one; in either order."""
    if dice.chance(COUNTERFACTUAL_SHARE):
        found = [one for one in candidates(script) if one.script.story_digest() not in evaluation_stories()]
        of_scenes = [one for one in found if one.major == "viewpoint"]
        one = dice.pick(of_scenes if of_scenes and dice.chance(SCENERY_SHARE) else found)
        joined = Joined(script, one.script, (one.pos, one.neg))
    else:
        other = training_script(dice)
        mine, theirs = (
            [event for event in one.events if event.deed not in another.deeds]
            for one, another in ((script, other), (other, script))
        )
        if not mine or not theirs:
            return draw_joined(script, dice)
        texts = [captions.caption(*dice.pick(events).deed) for events in (mine, theirs)]
        joined = Joined(script, other, (texts[0], texts[1]))
    if dice.chance(0.5):
        return joined
    return Joined(joined.second, joined.first, joined.captions[::-1])


def which_caption(sample: Sample) -> list[Segment]:
    """TemporalBench's question about a caption and one of its negatives."""
    script, dice = sample.setting.script, sample.dice
    first, second = temporalbench.statement(script, dice)
    negative = dice.pick(temporalbench.negatives(first, second, script, dice, training=True))
    asked = temporalbench.question(temporalbench.caption((first.deed, second.deed)), negative.text, dice)
    return [Segment(asked["question"], asked["GT"])]


def which_captions(sample: Sample) -> list[Segment]:
    """TemporalBench's question about a long video: the captions of its clips in a row, one of them false."""
    dice, told = sample.dice, []
    for script in sample.row:
        first, second = temporalbench.statement(script, dice)
        false = temporalbench.negatives(first, second, script, dice, training=True)
        told.append((temporalbench.caption((first.deed, second.deed)), false))
    place = dice.below(len(told))
    positives = [positive for positive, _ in told]
    negative = [*positives[:place], dice.pick(told[place][1]).text, *positives[place + 1 :]]
    asked = temporalbench.question(" ".join(positives), " ".join(negative), dice)
    return [Segment(asked["question"], asked["GT"])]


def central_caption(sample: Sample) -> list[Segment]:
    """A caption among three of its negatives: the one that the others resemble, which nobody needs a video to find."""
    dice, script = sample.dice, sample.setting.script
    while True:
        first, second = temporalbench.statement(script, dice)
        positive = temporalbench.caption((first.deed, second.deed))
        false = temporalbench.negatives(first, second, script, dice, training=True)
        texts = captions_of(positive, [negative.text for negative in false])
        if texts:
            break
        script = training_script(dice)
    shown = dice.shuffled([texts[name] for name in OPTION_SETS["centralized"]])
    options = {f"caption_{letter.lower()}": text for letter, text in zip(LETTERS, shown, strict=True)}
    asked = prompts_of("temporalbench")["four"].user.format(**options)
    return [Segment(asked, LETTERS[shown.index(positive)])]


def caption_after_examples(sample: Sample) -> list[Segment]:
    """TemporalBench's captioning with three captions of other videos."""
    examples = [captions.description(training_script(sample.dice)) for _ in range(3)]
    return [Segment(temporalbench.CAPTION.format(*examples), captions.description(sample.setting.script))]


def open_question(sample: Sample) -> list[Segment]:
    """One of MMBench-Video's questions."""
    while True:
        maker, _ = sample.dice.pick(mmbench_video.MAKERS)
        made = maker(sample.setting.script, sample.dice)
        if made:
            return [Segment(*made)]


def which_segment(sample: Sample) -> list[Segment]:
    """Vinoground's question about a concatenation, for both of its captions."""
    return [
        Segment(_segment_question(text), letter) for text, letter in zip(_joined(sample).captions, "AB", strict=True)
    ]


def think_about_segments(sample: Sample) -> list[Segment]:
    """The same with what happens in either segment first."""
    joined = _joined(sample)
    told = [captions.description(script) for script in (joined.first, joined.second)]
    place = sample.dice.below(2)
    answer = f"First segment: {told[0]} Second segment: {told[1]} The answer is {'AB'[place]}."
    return [Segment(_segment_question(joined.captions[place]) + THINK, answer)]


def think_about_captions(sample: Sample) -> list[Segment]:
    """Vinoground's question about two captions, with what happens first."""
    dice, found = sample.dice, candidates(sample.setting.script)
    one = dice.pick(found)
    is_a = dice.chance(0.5)
    texts = (one.pos, one.neg) if is_a else (one.neg, one.pos)
    answer = f"{captions.description(sample.setting.script)} The answer is {'A' if is_a else 'B'}."
    return [Segment(vinoground.TEXT.format(a=texts[0], b=texts[1]) + THINK, answer)]


def caption_pair_choice(sample: Sample) -> list[Segment]:
    """Vinoground's two captions at once, the second a counterfactual of the first, in both orders."""
    one = sample.dice.pick(candidates(sample.setting.script))
    return [
        Segment(vinoground.TEXT.format(a=one.pos, b=one.neg), "A"),
        Segment(vinoground.TEXT.format(a=one.neg, b=one.pos), "B"),
    ]


def _segment_question(caption: str) -> str:
    return vinoground.VIDEO.format(caption=caption.removesuffix("."))


def _joined(sample: Sample) -> Joined:
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
# Without a video two tokens of the prefix belong to the segment.
CENTRAL: dict[str, Task] = {"central caption": Task(central_caption, 8, 1, 92)}
SUBTITLED: dict[str, Task] = {"open": BENCHMARKS["open"]}
THINKING: dict[str, Task] = {"think": Task(think_about_captions, 2, 1, 100)}
JOINED: dict[str, Task] = {"which segment": Task(which_segment, 1, 2, 30)}
THINKING_JOINED: dict[str, Task] = {**JOINED, "think": Task(think_about_segments, 1, 1, 124)}
