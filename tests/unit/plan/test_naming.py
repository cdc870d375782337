"""A part of a name means the names that have it; a whole name means itself."""

from reprise.plan.naming import fitting, nearest

NAMES = [
    "velociti/entail/fps1/oracle",
    "velociti/entail.subset/fps1/oracle",
    "velociti/mc/fps1/oracle",
    "velociti/mc/fps1/toy-llava-ov",
    "velociti/mc/fps1/toy-llava-ov-early",
    "vinoground/paper/black8/oracle",
]


def test_words_mean_the_names_that_have_them_in_this_order() -> None:
    meant = {
        "velociti/mc/fps1/oracle": NAMES[2:3], "mc/oracle": NAMES[2:3], "mc/toy-llava-ov": NAMES[3:4], "mc/toy": NAMES[3:5],
        "entail/oracle": NAMES[:1], "entail.s": NAMES[1:2], "vino": NAMES[5:], "early": NAMES[4:5],
        "velociti/mc/fps1/toy-llava": [], "oracle/mc": [], "nothing": [], "": [], "/": [],
    }  # fmt: skip
    assert {words: fitting(words, NAMES) for words in meant} == meant


def test_the_nearest_name_is_suggested_whole_or_in_part() -> None:
    assert nearest("velociti/mc/fps1/orcale", NAMES) == " Did you mean 'velociti/mc/fps1/oracle'?"
    assert nearest("orcale", NAMES) == " Did you mean 'oracle'?"
    assert nearest("something else", NAMES) == ""
