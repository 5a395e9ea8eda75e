"""A question that nobody is there to answer: the process ends, the question waits."""

from __future__ import annotations

import sys

from autogen_persist.chat import ending
from autogen_persist.chat.seats import Here
from autogen_persist.session import Session
from autogen_persist.store.engine import command

EXIT_CODE = 75
"""EX_TEMPFAIL: try again later."""
resume = "start the program again"
"""What to do once the question is answered; `autogen-persist run` knows better."""


class Parked(SystemExit):
    """The process ends because a person is asked; not an error, so AutoGen lets it through."""


def park_if_wanted(place: Here | None, question: str) -> None:
    """End the process where `human_input="park"`; the question is in the journal already."""
    for session in place.run.numbers if place else ():
        if not session.closed and session.options["human_input"] == "park":
            print(_note(session, question), file=sys.stderr, flush=True)
            ending.leave(Parked(EXIT_CODE))


def _note(session: Session, question: str) -> str:
    asked = " ".join(question.split())
    return (
        f"Session {session.id} waits for an answer to: {asked}\n"
        f"answer: {command('answer', session.id, 'your answer', url=session.url)}\n"
        f"then:   {resume}"
    )
