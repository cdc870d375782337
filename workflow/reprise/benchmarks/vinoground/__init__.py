"""Vinoground: pairs of counterfactual videos and captions."""
