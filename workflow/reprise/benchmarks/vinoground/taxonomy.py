"""Define Vinoground's categories, and the halves of its pairs."""

from reprise.benchmarks.rows import ALL_ITEMS, is_in

ALL = "all"
MAJOR = ("object", "action", "viewpoint")
MINOR = ("interaction", "cyclical", "spatial", "contextual")
GROUPS = {ALL: ALL_ITEMS} | {name: is_in(name) for name in (*MAJOR, *MINOR)}
HALVES = ("pos", "neg")
HALF = "half"
"""tag with the half of a pair that an item is about"""
LETTERS = ("A", "B")
