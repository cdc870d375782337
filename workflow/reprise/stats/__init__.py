"""Pure statistics: clustered intervals, exact tests, paired comparisons, chance levels in closed form.

Nothing here reads a file or knows a benchmark's table. No data gives None, never 0; a NaN is a ValueError.
"""
