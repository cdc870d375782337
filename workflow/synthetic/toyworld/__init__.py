"""Toy video world with known truth: scripts, their frames and their captions."""
