"""Words after a plan count as the end of a job only if they leave no doubt."""

import pytest

from core.jobs.worker import says_complete


@pytest.mark.parametrize(
    "said",
    [
        "The job is complete.",
        "All steps are done: three lines were written.",
        "I have successfully completed what was asked.",
        "I've finished the report.",
        "All done!",
        "The task was\ncompleted.",
    ],
)
def test_clear_words_end_a_job(said: str) -> None:
    assert says_complete(said)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "The job is not complete.",
        "The task isn't finished.",
        "The task isn’t done yet.",
        "The work is incomplete.",
        "The job is unfinished.",
        "All steps are done, but the report remains to be written.",
        "The job is done except for the report.",
        "I have not yet completed the second part.",
        "Once the report is written, the job is complete.",
        "Write the report.",
    ],
)
def test_words_that_leave_doubt_do_not(said: str) -> None:
    assert not says_complete(said)
