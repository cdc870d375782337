"""What names a time of the video, which annotators are told to avoid; and what only looks like one."""

import time

import pytest
from reprise.construction.mmbench_video.timestamps import time_in

NAMED = (
    "What does he do at 03:20 in the video?",
    "Who enters at 0:15?",
    "What happens at 00:01:15?",
    "Between 0:15 and 0:30, who speaks?",
    "What is shown (1:05) on the wall?",
    "From 1:05 to 1:20, what is cut?",
    "What happens 01:15 into the video?",
    "Why does she laugh @0:45?",
    "What happens at 10:30?",
    "What does he hold at 12 seconds?",
    "What does he hold at the 12 s?",
    "What happens at about 20 seconds?",
    "What happens after 20 s?",
    "What falls after 20 seconds?",
    "Who appears in the first 10 seconds?",
    "Who appears in the first minute?",
    "What is said in the last 30 seconds?",
    "What happens between the 3rd and 5th minute?",
    "Who is there in the 3rd minute?",
    "What is cut in the third minute?",
    "Who sings 20 seconds into the video?",
    "Who sings twenty seconds into the clip?",
    "20 seconds in, who sings?",
    "What happens 5 seconds before the end?",
    "What happens 10 seconds from the start?",
    "What is shown at the 2-minute mark?",
    "What is on the table at the 45 second point?",
    "Who talks at minute 3?",
    "What happens at second 12?",
    "What is shown from 5 to 10 seconds?",
    "What is shown between 5 and 10 seconds?",
    "What is shown at 1m20s?",
    "What is shown at 1'20?",
    "Who talks until 1:05?",
    "What is he doing at 1.5 minutes?",
    "After 2 minutes of the video, who leaves?",
    "At around 12 seconds, what falls?",
    "1:05 - what is on screen?",
)

NOT_NAMED = (
    "Who won by 3 seconds?",
    "How did the runner win by 0.5 seconds?",
    "Who makes the last 3-pointer?",
    "What does the clock show at 10:30 am?",
    "Why does the clock on the wall say 10:30?",
    "What time is 10:30 on the watch?",
    "Does the train leave at 10:30 in the morning?",
    "What is the score when it is 21:15?",
    "Does the team lead with 3:21?",
    "How long is the 10-second countdown?",
    "Does he hold his breath for 30 seconds?",
    "What can be cooked in 5 minutes?",
    "What is done every 20 minutes?",
    "What changes after 20 minutes of baking?",
    "What does he do 3 seconds later?",
    "What happens at the end of the video?",
    "What happens after he falls?",
    "Who scores in the 90th minute of the match?",
    "Who scores in the last 10 seconds of the game?",
    "Who catches it at the last second?",
    "What does the second man do?",
    "Who is the second baseman?",
    "What is the second 50 dollar bill for?",
    "How did his time improve from 12 seconds to 10 seconds?",
    "Who runs at 5 minutes per mile?",
    "How many seconds does the timer show?",
    "Who takes the second 3-point shot?",
    "What is the 5 minute walk like?",
    "Wait a minute, who is that?",
    "What is the ratio of 16:9 for?",
    "What does he say in the last few seconds?",
    "Did it take about 20 minutes?",
    "How many minutes are left?",
    "Is the alarm set to 6:30?",
    "What is 2:30 pm for in the plan?",
)


@pytest.mark.parametrize("question", NAMED)
def test_a_time_of_the_video_is_found(question: str) -> None:
    assert time_in(question) in question and time_in(question)


@pytest.mark.parametrize("question", NOT_NAMED)
def test_what_is_no_time_of_the_video_is_left(question: str) -> None:
    assert time_in(question) == ""


@pytest.mark.parametrize(
    "part", ["9", "at ", "clock ", "1:05 ", "the first ", "score a ", "from 5 ", "9:", " ", "1st "]
)
def test_a_long_question_takes_no_longer_than_it_is(part: str) -> None:
    began = time.process_time()
    time_in(part * 5000)
    assert time.process_time() - began < 1
