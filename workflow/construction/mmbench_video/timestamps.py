"""Detection of video timestamps in questions, which the third guideline forbids (section 3.1).

The paper gives one example, "at 03:20 in the video". The other patterns are Reprise's own. Times of day, match times,
clocks in the picture and durations are not video timestamps. Reviewers find the timestamps that these patterns miss.
"""

import re

WORDS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "fifteen", "twenty",
    "thirty", "forty", "forty-five", "fifty", "sixty", "ninety",
)  # fmt: skip
ORDINALS = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|final"
NUMBER = rf"(?:(?<![\d.])\d{{1,4}}(?:\.\d{{1,3}})?|{'|'.join(WORDS)})"
UNIT = r"(?:s|secs?|seconds?|mins?|minutes?)\b"
TIME = rf"(?:{NUMBER}[\s-]*{UNIT}|(?<!\d)\d{{1,4}}(?:\s?m(?:in)?\s?\d{{1,2}}\s?s|['’]\s?[0-5]\d)\b)"
CLOCK = r"\d{1,3}:[0-5]\d(?:\.\d+)?(?![\d:])"
VIDEO = r"(?:video|clip|footage|film|recording|movie)"
ABOUT = r"(?:(?:about|around|roughly|approximately|exactly|the)\s+){0,2}"
# Times of a match, a song or a lap belong to the content, not to the video.
CONTENT_EVENTS = (
    "(?:match|game|half|quarter|period|round|race|song|lap|fight|set|bout|overtime|countdown|show|performance|timer)"
)
CHANGES = "(?:improve|reduce|decrease|increase|drop|fall|rise|go|shorten|cut|change)"
SIGNS = r"(?:clock|watch|timer|display|screen|scoreboard|stopwatch|phone|sign|ticket|counter|alarm|microwave|oven)"

# Phrases with a time that is no video timestamp. They are removed before the search for timestamps.
NO_TIMES = re.compile(
    "|".join((
        # a time of day
        rf"{CLOCK}\s*(?:a\.?m\b|p\.?m\b|o['’]clock|hours\b|in the (?:morning|afternoon|evening)|at night)",
        # a clock or scoreboard in the picture
        rf"\b{SIGNS}s?\b[^.?!,;]{{0,40}}?\b(?:at|is|was|shows?|showing|says?|saying|reads?|reading|displays?|to|for)\s+"
        rf"(?:{CLOCK}|{TIME})",
        rf"(?:{CLOCK}|{TIME})\s+(?:on|left on|of)\s+(?:the|a|his|her|their|its)\s+(?:\w+\s+)?{SIGNS}\b",
        rf"\b(?:scores?|scoring|ratio|odds|won|wins?|lost|leads?|leading|victory|result)\b[^.?!,;]{{0,20}}?{CLOCK}",
        # a time of a match, song or similar event
        rf"(?:{TIME}|{CLOCK}|\b(?:\d+(?:st|nd|rd|th)|{ORDINALS})\s+(?:second|minute)s?)\s+(?:left\s+)?"
        rf"(?:of|in|into)\s+(?:the|a|his|her|their|this)\s+(?:\w+\s+)?{CONTENT_EVENTS}\b",
        # a duration or frequency
        rf"\b(?:by|for|in|within|every|takes?|took|lasts|lasted|under|over|than)\s+{ABOUT}{TIME}"
        r"(?!\s*(?:into|in\b|from the|mark|point))",
        rf"\bafter\s+{ABOUT}{TIME}\s+of\s+(?!the\s+{VIDEO})",
        rf"\b{CHANGES}\w*\b[^.?!,;]{{0,30}}?\bfrom\s+{TIME}(?:\s+to\s+{TIME})?",
        rf"\bat\s+{TIME}\s+(?:per|a|an|each)\b",
    )),
    re.IGNORECASE,
)  # fmt: skip
# Video timestamps.
TIMES = re.compile(
    "|".join((
        r"\d{1,2}:[0-5]\d:[0-5]\d",
        r"(?:\b(?:at|from|until|till|to|by|around|about|after|before|since|between|and|of|in|during|near|past|timestamp|"
        rf"time|mark|minute)\s+(?:the\s+)?|[(\[@–-]\s*|^\s*){CLOCK}",
        rf"\b{CLOCK}\s*(?:mark|[–-]\s*{CLOCK}|(?:in|into|of)\s+(?:the|this)\s+{VIDEO})",
        rf"\b(?:at|from|until|till|since|before|after|past)\s+{ABOUT}{TIME}(?!\s+(?:later|earlier|after|before))",
        rf"\bbetween\s+(?:the\s+)?{NUMBER}\s*(?:{UNIT})?\s*and\s+(?:the\s+)?{TIME}",
        rf"\bfrom\s+{NUMBER}\s*(?:to|[–-])\s*{TIME}",
        rf"\b{TIME}\s+(?:into\b|in\s+(?:the|this)\s+{VIDEO}|in(?=\s*[,?.])|"
        r"(?:from|after|before)\s+the\s+(?:start|beginning|end)\b)",
        rf"\b{TIME}[\s-]+(?:mark|point)\b",
        rf"\bthe\s+(?:first|last|final|opening|closing|initial)\s+(?:{NUMBER}[\s-]*{UNIT}|(?:half[\s-]+)?minute\b|"
        rf"second\s+of\s+the\s+{VIDEO})",
        rf"\bthe\s+(?:{ORDINALS})\s+minute\b",
        r"(?<!\d)\d{1,4}(?:st|nd|rd|th)(?:\s+(?:and|to|or)\s+(?:the\s+)?\d{1,4}(?:st|nd|rd|th))?\s+(?:second|minute)s?\b(?!\s+\w+man)",
        r"(?:\b(?:at|from|in|until|by|around|after|before|between|of|during)|^)\s*(?:second|minute)\s+\d+\b(?!-)",
    )),
    re.IGNORECASE,
)  # fmt: skip


def find_timestamp(question: str) -> str:
    """Return the video timestamp in a question, or an empty text."""
    match = TIMES.search(NO_TIMES.sub(" ... ", question))
    return match[0].strip() if match else ""
