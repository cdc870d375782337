"""Define Vinoground's categories, and the halves of its pairs."""

from reprise.benchmarks.annotations import ALL_ITEMS, is_in

ALL = "all"
MAJOR_CATEGORIES = ("object", "action", "viewpoint")
MINOR_CATEGORIES = ("interaction", "cyclical", "spatial", "contextual")
GROUPS = {ALL: ALL_ITEMS} | {name: is_in(name) for name in (*MAJOR_CATEGORIES, *MINOR_CATEGORIES)}
POLARITIES = ("pos", "neg")
POLARITY_TAG = "half"
"""tag with the half of a pair that an item is about"""
LETTERS = ("A", "B")
