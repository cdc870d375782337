"""Reprise: video-language benchmark numbers that anyone can play again."""

__version__ = "0.1.0"
