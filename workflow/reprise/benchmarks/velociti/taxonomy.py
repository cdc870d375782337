"""VELOCITI's tests and their average, in the paper's order."""

# The paper's order: Control, then the seven tests of the average.
CONTROL = "control"
TESTS = ("agent_random", "agent_bind", "coref", "action_adv", "action_manner", "action_bind", "chrono")
AVERAGE = "average"
GROUPS = (CONTROL, *TESTS, AVERAGE)
