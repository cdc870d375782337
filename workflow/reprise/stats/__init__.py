"""Pure statistics: clustered intervals, exact tests, paired comparisons, chance levels in closed form.

These modules read no files and are independent of the benchmarks. Empty data gives None, never 0; a NaN
raises ValueError.
"""
