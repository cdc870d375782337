"""Ids of clips that name their video and span."""

import re

import pytest
from reprise.benchmarks.clip_ids import Segment, vatex, vidsitu, vinoground
from reprise.core.errors import UserError


@pytest.mark.parametrize(
    ("clip_id", "segment"),
    [
        ("v_IFc2QKCnGEg_seg_10_20", Segment("IFc2QKCnGEg", 10, 20)),
        ("v_jf_-d13-UNw_seg_35_45", Segment("jf_-d13-UNw", 35, 45)),
        ("v_05-e-YTw4r8_seg_110_120.mp4", Segment("05-e-YTw4r8", 110, 120)),
        ("v__seg_1_2abc_seg_0_10", Segment("_seg_1_2abc", 0, 10)),
    ],
)
def test_vidsitu(clip_id: str, segment: Segment) -> None:
    assert vidsitu(clip_id) == segment


@pytest.mark.parametrize(
    ("row", "segment"),
    [
        (("Ptf_2VRj-V0", "3", "7.5"), Segment("Ptf_2VRj-V0", 3, 7.5)),
        (("https://www.youtube.com/watch?v=Ptf_2VRj-V0&t=3", 3, 7), Segment("Ptf_2VRj-V0", 3, 7)),
        (("https://youtu.be/Ptf_2VRj-V0", "1:02", "1:00:00"), Segment("Ptf_2VRj-V0", 62, 3600)),
        (("Ptf_2VRj-V0_000122_000132",), Segment("Ptf_2VRj-V0", 122, 132)),
    ],
)
def test_vinoground(row: tuple[str, ...], segment: Segment) -> None:
    assert vinoground(*row) == segment


@pytest.mark.parametrize(
    ("parse", "row"),
    [
        (vidsitu, ("v_short_seg_0_10",)),
        (vidsitu, ("v_IFc2QKCnGEg_seg_20_10",)),
        (vidsitu, ("v_IFc2QKCnGEg_seg_10",)),
        (vatex, ("Ptf_2VRj-V0_122_132",)),
        (vinoground, ("not an id", 0, 1)),
        (vinoground, ("Ptf_2VRj-V0", "soon", 1)),
        (vinoground, ("Ptf_2VRj-V0", 5, 5)),
    ],
)
def test_ids_that_are_none(parse: object, row: tuple[str, ...]) -> None:
    assert callable(parse)
    with pytest.raises(UserError, match=re.escape(str(row[0]))):
        parse(*row)
