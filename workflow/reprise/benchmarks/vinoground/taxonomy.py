"""Define Vinoground's categories, and the halves of its pairs."""

from reprise.benchmarks.annotations import ALL_ITEMS, is_in_group

ALL = "all"
MAJOR_CATEGORIES = ("object", "action", "viewpoint")
MINOR_CATEGORIES = ("interaction", "cyclical", "spatial", "contextual")
GROUPS = {ALL: ALL_ITEMS} | {name: is_in_group(name) for name in (*MAJOR_CATEGORIES, *MINOR_CATEGORIES)}
HALVES = ("pos", "neg")
"""halves of a pair: the positive and the negative video and caption"""
HALF_TAG = "half"
"""tag with the half of a pair that an item is about"""
LETTERS = ("A", "B")
