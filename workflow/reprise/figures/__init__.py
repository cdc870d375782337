"""Figures: the numbers of tables, and the items behind them, as pictures."""
