"""The card that says whether a model uses time: its scores under views of its clips, and the parts of its score."""
