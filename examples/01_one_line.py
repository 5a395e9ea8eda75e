"""One added line, and every message of a group chat is in a database."""

from autogen import ConversableAgent, GroupChat, GroupChatManager

from autogen_persist import persist


def scripted(name, line):
    """An agent that needs no model: it always says the same."""
    return ConversableAgent(
        name, llm_config=False, human_input_mode="NEVER", default_auto_reply=line
    )


planner = scripted("planner", "Next: a test for the empty list.")
coder = scripted("coder", "Done, see mean() in stats.py.")
reviewer = scripted("reviewer", "Reads well.")
chat = GroupChat(
    agents=[planner, coder, reviewer],
    messages=[],
    max_round=6,
    speaker_selection_method="round_robin",
)
manager = GroupChatManager(groupchat=chat, llm_config=False, silent=True)

session = persist(manager, session_id="stats", url="one_line.db")  # the one added line

planner.initiate_chat(manager, message="We need a function mean().", silent=True)

for message in session.messages():
    print(message.seq, message.speaker, "|", message.text)
print("now try: autogen-persist show stats --url one_line.db")
