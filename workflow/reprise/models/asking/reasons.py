"""Reasons for which a request has no answer, by name; in a module of their own so that scoring imports no adapters."""

from reprise.media.errors import STATUSES as MEDIA_STATUSES

# These requests are retried, because the machine or the server is the cause and not the request.
TRANSIENT = {
    "out_of_memory": "no memory was left on the device or in the job",
    "device_error": "the GPU failed",
    "killed": "the job was killed while it was asked",
    "timeout": "no answer in time",
    "rate_limited": "the server asks us to slow down",
    "server_error": "the server failed (HTTP 5xx, or in the middle of the answer)",
    "network": "no connection, or one that broke",
}
PERMANENT = {
    "not_finite": "a score that is NaN or infinite",
    "malformed": "not an answer as adapters give it: a wrong type, number or range",
    "bad_text": "a text that is no valid Unicode",
    "too_few": "no answer to the question",
    "too_many": "more answers than questions",
    "not_shown": "the frames that reached the model are not those of the plan",
    "other_model": "another model answered than the one that is named",
    "refused": "the model refused to answer",
    "content_filter": "the server's filter withheld the question or the answer",
    "empty": "an answer without a word",
    "unfinished": "the server does not say that the answer is whole",
    "still_thinking": "the limit of tokens was reached before the answer began",
    "no_scores": "no exact probability of the options",
    "bad_request": "the server does not take the question",
    "beyond_context": "the prompt is longer than the model's context",
    "failed": "failed for a reason that is in the message",
}
REASONS = TRANSIENT | PERMANENT | MEDIA_STATUSES


def in_words(error: str, message: str) -> str:
    """Return a failure's reason, its explanation and, if it has one, its message."""
    return f"{error} ({REASONS[error]}): {message}" if message else f"{error} ({REASONS[error]})"
