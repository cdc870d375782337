"""What all tests share: libraries stay in use, and to search all of them for garbage takes an eighth of the tests' time."""

import gc

gc.set_threshold(100_000)
