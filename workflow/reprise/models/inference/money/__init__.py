"""Cost and speed of requests to a vendor: prices, budgets, the ledger of spending, and rate limits that jobs share."""
