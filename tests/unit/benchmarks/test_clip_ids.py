"""Ids of clips that name their video and span."""

import re
from collections.abc import Callable

import pytest
from reprise.benchmarks.clip_ids import Segment, vidsitu, vinoground
from reprise.core.errors import UserError


@pytest.mark.parametrize(
    ("parse", "row", "segment"),
    [
        (vidsitu, ("v_IFc2QKCnGEg_seg_10_20",), Segment("IFc2QKCnGEg", 10, 20)),
        (vidsitu, ("v_jf_-d13-UNw_seg_35_45",), Segment("jf_-d13-UNw", 35, 45)),
        (vidsitu, ("v_05-e-YTw4r8_seg_110_120.mp4",), Segment("05-e-YTw4r8", 110, 120)),
        (vidsitu, ("v__seg_1_2abc_seg_0_10",), Segment("_seg_1_2abc", 0, 10)),
        (vinoground, ("Ptf_2VRj-V0", "3", "7.5"), Segment("Ptf_2VRj-V0", 3, 7.5)),
        (vinoground, ("https://www.youtube.com/watch?v=Ptf_2VRj-V0&t=3", "3", "7"), Segment("Ptf_2VRj-V0", 3, 7)),
        (vinoground, ("https://youtu.be/Ptf_2VRj-V0", "1:02", "1:00:00"), Segment("Ptf_2VRj-V0", 62, 3600)),
        (vidsitu, ("v_short_seg_0_10",), None),
        (vidsitu, ("v_IFc2QKCnGEg_seg_20_10",), None),
        (vidsitu, ("v_IFc2QKCnGEg_seg_10",), None),
        (vinoground, ("not an id", "0", "1"), None),
        (vinoground, ("Ptf_2VRj-V0", "soon", "1"), None),
        (vinoground, ("Ptf_2VRj-V0", "5", "5"), None),
    ],
)
def test_an_id_gives_its_video_and_span_or_is_refused(
    parse: Callable[..., Segment], row: tuple[str, ...], segment: Segment | None
) -> None:
    if segment is not None:
        assert parse(*row) == segment
        return
    with pytest.raises(UserError, match=re.escape(row[0])):
        parse(*row)
