"""Generate true and false statements about training clips, worded as in TemporalBench and Vinoground."""

from typing import NamedTuple

from synthetic.toyworld import captions
from synthetic.toyworld.generate import Dice
from synthetic.toyworld.pairs import PAIR_MAKERS, PairInput
from synthetic.toyworld.script import Script, is_held_out
from synthetic.toyworld.temporalbench import EDITS, caption

EDIT_SHARE = 0.7


class TwoTexts(NamedTuple):
    """A statement that is true of a clip and one that is false."""

    true: str
    false: str


def pair_texts(setting: PairInput, dice: Dice) -> TwoTexts:
    """Draw a pair of one of VELOCITI's tests."""
    while True:
        pair = PAIR_MAKERS[dice.pick(tuple(PAIR_MAKERS))](setting, dice)
        if pair:
            return TwoTexts(pair.pos, pair.neg)


def two_event_texts(setting: PairInput, dice: Dice) -> TwoTexts:
    """Draw two consecutive events as in TemporalBench; the false text swaps them or edits one."""
    events = setting.script.events
    event_pairs = [(earlier, later) for earlier in events for later in events if later.slot > earlier.slot]
    first, second = (event.deed for event in dice.pick(event_pairs))
    edits_first = dice.chance(0.5)
    event = next(candidate for candidate in events if candidate.deed == (first if edits_first else second))
    options = [
        deed
        for edit in EDITS.values()
        for deed in edit(event, setting.script)[:4]
        if not (is_held_out(deed[0], deed[1]) or deed in setting.script.deeds)
    ]
    false_deeds = (second, first)
    if options and dice.chance(EDIT_SHARE):
        false_deeds = (dice.pick(options), second) if edits_first else (first, dice.pick(options))
    return TwoTexts(caption((first, second)), caption(false_deeds))


def scenery_texts(script: Script, dice: Dice) -> TwoTexts | None:
    """Return two consecutive backgrounds and the same in the other order, or None if the background stays."""
    if len(script.scenes) < 2:
        return None
    index = dice.below(len(script.scenes) - 1)
    first, second = script.scenes[index], script.scenes[index + 1]
    return TwoTexts(captions.scenery(first, second), captions.scenery(second, first))
