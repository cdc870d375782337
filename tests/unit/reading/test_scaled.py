"""Ratings on another scale than 0 to 3: what stands as one, and what does not."""

import pytest
from reprise.reading.ratings import SCALES, read_scaled

READ = {
    "4": "4",
    " 5\n": "5",
    "0": "0",
    "**4**": "4",
    "4.": "4",
    "4.0": "4",
    "Score: 4": "4",
    "Rating: 4/5": "4",
    "4/5": "4",
    "I rate it 4 out of 5.": "4",
    "{'pred': 'yes', 'score': 4}": "4",
    '```json\n{"pred": "no", "score": 1}\n```': "1",
    "The score is 3.": "3",
    "Score: 4\nThe answer names 2 dogs of 3.": "4",
    "4\n\nBoth say the same.": "4",
    "On a scale from 0 to 5, the rating is 2.": "2",
    "Your response: 4": "4",
    "Answer: 4": "4",
    "4 points": "4",
    "I would rate this a 4.": "4",
    "4 - largely correct": "4",
    "Similarity: 4": "4",
    "five": "5",
    "4 of 5": "4",
    "\\boxed{4}": "4",
    "Score: 4 (not 5)": "4",
    "Score: 4\nThe candidate mentions at least 2 people.": "4",
    "<think>Perhaps a score of 3.</think>\n4": "4",
    "I give it full marks": "5",
    "My rating of 0, 1, 2, 3, 4, or 5 is 1": "1",
}
UNREAD = (
    "6", "7/5", "-1", "4.5", "Score: 10", "Score: 45%", "Score: 4/10", "Score: 4 or 5", "Score: 3-4", "3 or 4",
    "Score: 3. Score: 4", "4\n5", "It is between 3 and 4", "at least 4", "Score: not 4", "not a score of 4",
    "There are 2 dogs.", "2024", "six", "Step 1. Compare.\nStep 2. Rate.", "I'm sorry, I cannot rate this.", "",
)  # fmt: skip


@pytest.mark.parametrize(("reply", "rating"), READ.items(), ids=list(READ))
def test_a_rating_is_read(reply: str, rating: str) -> None:
    assert read_scaled(reply, SCALES[5]) == rating


@pytest.mark.parametrize("reply", UNREAD)
def test_what_is_no_rating_of_the_scale_is_unread(reply: str) -> None:
    assert read_scaled(reply, SCALES[5]) == ""
