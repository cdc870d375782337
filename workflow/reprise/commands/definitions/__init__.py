"""Definitions of the commands of `reprise`: one module for each group of its help.

The module of a command is imported only to run it.
"""
