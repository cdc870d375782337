"""True and false statements about training clips, worded as TemporalBench and Vinoground word them."""

from typing import NamedTuple

from synthetic.toyworld import captions
from synthetic.toyworld.generate import Dice
from synthetic.toyworld.pairs import PAIR_MAKERS, Setting
from synthetic.toyworld.script import Script, is_held_out
from synthetic.toyworld.temporalbench import EDITS, caption

EDIT_SHARE = 0.7


class TwoTexts(NamedTuple):
    """A statement that is true of a clip and one that is false."""

    true: str
    false: str


def pair_texts(setting: Setting, dice: Dice) -> TwoTexts:
    """A pair of one of VELOCITI's tests."""
    while True:
        pair = PAIR_MAKERS[dice.pick(tuple(PAIR_MAKERS))](setting, dice)
        if pair:
            return TwoTexts(pair.pos, pair.neg)


def two_event_texts(setting: Setting, dice: Dice) -> TwoTexts:
    """Two events in a row as TemporalBench has them; false by their order or by an edit of one of them."""
    events = setting.script.events
    apart = [(one, two) for one in events for two in events if two.slot > one.slot]
    first, second = (event.deed for event in dice.pick(apart))
    at_first = dice.chance(0.5)
    event = next(e for e in events if e.deed == (first if at_first else second))
    options = [
        deed
        for edit in EDITS.values()
        for deed in edit(event, setting.script)[:4]
        if not (is_held_out(deed[0], deed[1]) or deed in setting.script.deeds)
    ]
    false = (second, first)
    if options and dice.chance(EDIT_SHARE):
        false = (dice.pick(options), second) if at_first else (first, dice.pick(options))
    return TwoTexts(caption((first, second)), caption(false))


def scenery_texts(script: Script, dice: Dice) -> TwoTexts | None:
    """Two backgrounds in a row, and in the other order; none where the background stays."""
    if len(script.scenes) < 2:
        return None
    at = dice.below(len(script.scenes) - 1)
    first, second = script.scenes[at], script.scenes[at + 1]
    return TwoTexts(captions.scenery(first, second), captions.scenery(second, first))
