"""Control the cost and rate of requests to vendors: prices, budgets, the spending ledger and shared rate limits."""
