"""VELOCITI's tests, in the paper's order."""

CONTROL = "control"
TESTS = ("agent_random", "agent_bind", "coref", "action_adv", "action_manner", "action_bind", "chrono")
"""the seven of the average, to which the control does not belong"""
SUBSET = "subset"
