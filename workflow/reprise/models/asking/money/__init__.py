"""What asking a vendor costs and how fast it may go: prices, the ledger of what was spent, limits that jobs share."""
