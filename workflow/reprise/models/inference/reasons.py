"""Name the reasons for failed requests, without importing adapters, because scoring imports this module."""

from reprise.media.errors import STATUSES as MEDIA_STATUSES

# Reason -> explanation for the user.
# The machine or the server causes these failures, not the request, so the request is retried.
TRANSIENT_REASONS = {
    "out_of_memory": "the device or the job had no free memory",
    "device_error": "the GPU failed",
    "killed": "the job was killed during the request",
    "timeout": "no answer before the timeout",
    "rate_limited": "the server limits the rate of requests",
    "server_error": "the server failed (HTTP 5xx, or during the answer)",
    "network": "the connection failed or was lost",
}
# A retry would fail again.
PERMANENT_REASONS = {
    "not_finite": "a score that is NaN or infinite",
    "malformed": "an invalid answer: wrong type, number or range",
    "bad_text": "a text that is not valid Unicode",
    "too_few": "no answer to the request",
    "too_many": "more answers than requests",
    "not_shown": "the frames that reached the model are not those of the plan",
    "other_model": "a model other than the configured one answered",
    "refused": "the model refused to answer",
    "content_filter": "the server's content filter blocked the request or the answer",
    "empty": "an answer without text",
    "unfinished": "the server does not report the answer as complete",
    "still_thinking": "the token limit was reached before the answer began",
    "no_scores": "no exact probabilities of the options",
    "bad_request": "the server rejects the request",
    "beyond_context": "the prompt is longer than the model's context",
    "failed": "failed for the reason in the message",
}
FAILURE_REASONS = MEDIA_STATUSES | TRANSIENT_REASONS | PERMANENT_REASONS


def describe_failure(error: str, message: str) -> str:
    """Return a failure's reason, its explanation and, if it has one, its message."""
    return f"{error} ({FAILURE_REASONS[error]}): {message}" if message else f"{error} ({FAILURE_REASONS[error]})"
