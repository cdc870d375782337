"""Vinoground from captions by a language model and videos with captions: section 3 and appendix E of the paper."""
