"""Draw figures from the numbers of tables and the items behind them."""
