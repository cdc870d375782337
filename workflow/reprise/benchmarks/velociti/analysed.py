"""The means of VELOCITI's analyses; beside the taxonomy, so that annotations and requests do not hang on it."""

FACETS = {
    "agent": ("agent_random", "agent_bind", "coref"),
    "action": ("action_adv", "action_manner", "action_bind"),
    "text_negation": ("agent_random", "action_adv"),
    "video_negation": ("agent_bind", "action_bind"),
}
"""what a model understands, and where negative captions come from (text-inspired, or from the same video)"""
VERB_GROUPS = (
    "verbs_movement", "verbs_communication", "verbs_manipulation", "verbs_perception", "verbs_physiological",
    "verbs_states",
)  # fmt: skip
"""samples by the action of their right caption, in the groups of appendix B.4"""
