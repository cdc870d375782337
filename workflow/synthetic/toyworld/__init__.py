"""A toy video world with known truth: scripts, their pictures, their captions, and models trained on them."""
