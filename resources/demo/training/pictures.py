"""Ask the questions of the toy releases of MMBench and MMStar about stills of training clips."""

from synthetic.toyworld.image_choice import LETTERS, MMBENCH, MMSTAR, still_of

from training.prompts import prompts_of
from training.tasks import Sample, Segment, Task

HINT_SHARE = 0.1
MAKERS = tuple(maker for maker, _, _ in (*MMBENCH, *MMSTAR))


def picture_choice(sample: Sample) -> list[Segment]:
    """Ask one of the questions about the still of a clip, with its options in two orders."""
    dice, still = sample.dice, still_of(sample.setting.script)
    question = None
    while question is None:
        question = dice.pick(MAKERS)(still, dice)
    hint = "Hint: The picture shows shapes on a stage.\n" if dice.chance(HINT_SHARE) else ""
    options = dice.shuffled((question.right_option, *question.wrong_options))
    segments = []
    for order in (options, options[1:] + options[:1]):
        option_lines = "".join(f"{letter}. {text}\n" for letter, text in zip(LETTERS, order, strict=False))
        user = prompts_of("mmbench_video")["image"].user.format(hint=hint, question=question.text, options=option_lines)
        segments.append(Segment(user, LETTERS[order.index(question.right_option)]))
    return segments


PICTURES: dict[str, Task] = {"picture": Task(picture_choice, 6, 2, 48)}
