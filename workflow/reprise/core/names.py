"""The one pattern of every name that stands in a path or a command.

No such name can leave its folder or mean anything to a shell.
"""

SLUG = r"[a-z0-9][a-z0-9._-]*"
SLUG_IN_WORDS = "lower-case letters, digits, '.', '_' and '-', first a letter or a digit"
