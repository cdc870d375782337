"""Views of time: what each shows at which moments, of clips and of concatenations, and which are refused."""

from collections import Counter
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.media.sampling import Plan, frames_shown, pictures_shown, plan, with_view
from reprise.media.views import IN_WORDS, Planned, other_clips

FPS = 24
BLACK = (240, 288)
VIEWS: dict[str, dict[str, Any]] = {
    show: {"show": show, "seed": 0} if show in ("shuffled", "another") else {"show": show} for show in IN_WORDS
}


def planned(
    rule: dict[str, Any], show: str, frames: int, black: tuple[int, int] | None = None, clip_id: str = "u.c"
) -> Plan:
    viewed = with_view(rule, VIEWS[show]) if show else rule
    return plan(viewed, frames, [number / FPS for number in range(frames)], clip_id, black)


FOUR = {"rule": "linspace", "frames": 4}
JOINED = {"rule": "black_aware", "frames": 8}
NO_BLACK = {"rule": "linspace", "frames": 4}
BY_ITSELF = ", each side of the black by itself"
CASES = [
    # of a clip of 10 frames: 0, 3, 6, 9
    (FOUR, 10, None, "middle", [(6, 6)], "the middle frame alone"),
    (FOUR, 10, None, "first", [(0, 0), (3, 0), (6, 0), (9, 0)], "the first frame at every moment"),
    (FOUR, 10, None, "reversed", [(0, 9), (3, 6), (6, 3), (9, 0)], "in reverse order"),
    (FOUR, 10, None, "another", [(0, 0), (3, 3), (6, 6), (9, 9)], ""),  # the stage shows the other clip's
    # of 528 frames with black from 240 to 287: 40, 120, 200 | 252, 276 | 328, 408, 488
    (JOINED, 528, BLACK, "middle", [(120, 120), (252, 252), (276, 276), (408, 408)], f"the middle frame alone{BY_ITSELF}"),
    (JOINED, 528, BLACK, "first", [(40, 40), (120, 40), (200, 40), (252, 252), (276, 276), (328, 328), (408, 328), (488, 328)], f"the first frame at every moment{BY_ITSELF}"),
    (JOINED, 528, BLACK, "reversed", [(40, 200), (120, 120), (200, 40), (252, 252), (276, 276), (328, 488), (408, 408), (488, 328)], f"in reverse order{BY_ITSELF}"),
    # 0, 175 | none in the black | 351, 527
    (NO_BLACK, 528, BLACK, "reversed", [(0, 175), (175, 0), (351, 527), (527, 351)], f"in reverse order{BY_ITSELF}"),
    (NO_BLACK, 528, BLACK, "shuffled", [(0, 175), (175, 0), (351, 527), (527, 351)], f"in a shuffled order, drawn by clip{BY_ITSELF}"),
    # one frame on each side
    ({"rule": "linspace", "frames": 2}, 528, BLACK, "reversed", [(0, 0), (527, 527)], f"in reverse order{BY_ITSELF}: the same frames as planned"),
    # a clip of one frame, shown four times, and one that loses all its frames
    (FOUR, 1, None, "shuffled", [(0, 0)] * 4, "repeats frames: the clip has 1; in a shuffled order, drawn by clip: the same frames as planned"),
    (FOUR, 0, None, "reversed", [], "the clip has no frames"),
    ({"rule": "qwen", "frames": 4}, 1, None, "first", [], "the reference needs at least two frames: it loses the sample; 0 frames for 4 asked"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "frames", "black", "show", "shown", "note"), CASES)
def test_what_a_view_shows_and_at_which_moments(
    rule: dict[str, Any], frames: int, black: tuple[int, int] | None, show: str, shown: list[tuple[int, int]], note: str
) -> None:
    found = planned(rule, show, frames, black)
    assert [(round(moment * FPS), index) for moment, index in zip(found.times_s, found.indices, strict=True)] == shown
    assert found.note == note


def side(index: int, black: tuple[int, int] | None) -> int:
    return 0 if black is None else (index >= black[1]) - (index < black[0])


RULES = [
    *({"rule": "linspace", "frames": count} for count in (2, 3, 8)),
    *({"rule": "black_aware", "frames": count} for count in (3, 33)),
    {"rule": "fps_mid", "fps": 4},
]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize(
    ("frames", "black"), [(2, None), (3, None), (25, None), (240, None), (528, BLACK), (300, (24, 72))]
)
def test_a_shuffle_is_another_order_of_the_same_frames_and_keeps_sides_and_moments(
    rule: dict[str, Any], frames: int, black: tuple[int, int] | None
) -> None:
    """Of every rule, length and clip: never the planned order where there is another one."""
    before = planned(rule, "", frames, black)
    orders = set()
    for number in range(8):
        after = planned(rule, "shuffled", frames, black, f"unit{number}.clip")
        orders.add(after.indices)
        assert after.times_s == before.times_s
        assert [side(index, black) for index in after.indices] == [side(index, black) for index in before.indices]
        assert Counter(after.indices) == Counter(before.indices)
        for part in (-1, 0, 1):
            one = [index for index in before.indices if side(index, black) == part]
            other = [index for index in after.indices if side(index, black) == part]
            is_black = black is not None and part == 0
            assert (one == other) == (is_black or len(set(one)) < 2), "the order is another on each side by itself"
        assert after == planned(rule, "shuffled", frames, black, f"unit{number}.clip"), "the same each time"
    most = max(Counter(side(index, black) for index in before.indices).values(), default=0)
    assert len(orders) > 1 or most < 3 or len(set(before.indices)) < 3, "it is drawn by clip"


def test_a_shuffle_is_drawn_by_its_seed_and_the_same_everywhere() -> None:
    rule, times = {"rule": "linspace", "frames": 8}, [number / FPS for number in range(80)]
    one, other = (plan(with_view(rule, {"show": "shuffled", "seed": seed}), 80, times, "u.c") for seed in (0, 1))
    assert one.indices == (33, 45, 79, 11, 0, 56, 22, 67) != other.indices


@pytest.mark.parametrize(
    ("rule", "show", "message"),
    [
        ({"rule": "none"}, "shuffled", "it shows no frame, so that there is none to show 'shuffled'."),
        ({"rule": "none"}, "none", "it shows no frame, so that there is none to show 'none'."),
        *(
            (rule, show, f"rule '{rule['rule']}' shows one frame, which is the same '{show}' as planned.")
            for rule in ({"rule": "linspace", "frames": 1}, {"rule": "random_one", "of": {"rule": "all"}})
            for show in ("shuffled", "reversed", "first", "middle")
        ),
        (with_view(FOUR, VIEWS["shuffled"]), "shuffled", "it has the view 'shuffled' already, and a sampling has one."),
        (with_view(FOUR, VIEWS["first"]), "reversed", "it has the view 'first' already, and a sampling has one."),
    ],
)
def test_a_view_that_makes_no_sense(rule: dict[str, Any], show: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        with_view(rule, VIEWS[show])
    assert message in str(error.value)


def test_how_many_frames_a_view_shows() -> None:
    counts = {show: frames_shown(with_view(FOUR, VIEWS[show])) for show in IN_WORDS}
    assert counts == {"none": 0, "middle": None, "first": 4, "shuffled": 4, "reversed": 4, "another": 4}
    assert pictures_shown(with_view(FOUR, VIEWS["middle"])) == 1
    assert frames_shown(with_view({"rule": "linspace", "frames": 1}, VIEWS["another"])) == 1


# --- other clips -----------------------------------------------------------------------------------------------------


def clips(units: int, per_unit: int = 2, frames: int = 4) -> list[Planned]:
    return [
        Planned(f"u{unit}.{part}", f"u{unit}", f"sha {unit} {part}", is_joined=False, indices=tuple(range(frames)))
        for unit in range(units)
        for part in range(per_unit)
    ]


def test_another_clip_is_of_another_unit_and_each_is_shown_about_as_often() -> None:
    found = other_clips(clips(50), 0)
    assert len(found) == 100
    assert all(other.unit != name.partition(".")[0] for name, other in found.items())
    assert max(Counter(other.clip_id for other in found.values()).values()) <= 3
    assert found == other_clips(reversed(clips(50)), 0) != other_clips(clips(50), 1)


def test_a_clip_that_goes_missing_changes_only_what_was_shown_in_its_place() -> None:
    before, gone = other_clips(clips(50), 0), "u7.0"
    after = other_clips([one for one in clips(50) if one.clip_id != gone], 0)
    changed = {name for name, other in after.items() if other != before[name]}
    assert changed == {name for name, other in before.items() if other.clip_id == gone and name in after}


def test_another_clip_has_as_many_frames_where_there_is_one() -> None:
    short = Planned("s.s", "s", "s", is_joined=False, indices=(5, 6))
    long = Planned("l.l", "l", "l", is_joined=False, indices=tuple(range(0, 60, 10)))
    found = other_clips([*clips(3), short, long], 0)
    assert {other.clip_id[0] for name, other in found.items() if name[0] == "u"} == {"u"}
    # of more frames some, evenly; of fewer frames some again
    assert found["s.s"].indices in ((0, 2), (0, 30))
    assert found["l.l"].indices == (0, 0, 1, 2, 2, 3)


def test_a_concatenation_is_shown_another_one_and_equal_bytes_are_no_other_clip() -> None:
    joined = [Planned(f"{name}.j", name, name, is_joined=True, indices=(1, 2, 3, 4)) for name in "ab"]
    twin = Planned("x.y", "x", "sha 0 0", is_joined=False, indices=(0, 1, 2, 3))
    found = other_clips([*joined, *clips(1, 1), twin, *clips(3)[4:]], 0)
    assert (found["a.j"].clip_id, found["b.j"].clip_id) == ("b.j", "a.j")
    assert found["x.y"].unit == found["u0.0"].unit == "u2"


def test_without_another_unit_there_is_no_other_clip() -> None:
    with pytest.raises(UserError, match=r"clip 'u0\.\d': there is no clip of another unit whose frames can be shown"):
        other_clips(clips(1), 0)
    lost = Planned("lost.all", "lost", "lost", is_joined=False, indices=())
    assert "lost.all" not in other_clips([lost, *clips(2)], 0), "a clip that the rule shows nothing of stays so"
