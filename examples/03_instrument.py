"""Journal a whole process: every agent and chat that is built from here on."""

from autogen import ConversableAgent

from autogen_persist import instrument, uninstrument

session = instrument(session_id="nightly", url="instrument.db")


def scripted(name, line):
    return ConversableAgent(
        name, llm_config=False, human_input_mode="NEVER", default_auto_reply=line
    )


# Nothing below knows that it is journaled.
planner = scripted("planner", "Thank you.")
coder = scripted("coder", "The importer is faster by half.")
reviewer = scripted("reviewer", "Two comments, both small.")

planner.initiate_chat(coder, message="What is new?", max_turns=1, silent=True)
planner.initiate_chat(reviewer, message="And the review?", max_turns=1, silent=True)

for message in session.messages():
    print(f"run {message.run}: {message.speaker} to {message.listener} | {message.text}")
uninstrument()
