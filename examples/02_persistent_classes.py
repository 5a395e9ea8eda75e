"""Classes that are persisted by construction, in the place of AutoGen's own."""

from autogen import AssistantAgent, GroupChatManager

from autogen_persist import PersistentAgent, PersistentGroupChat, PersistentMixin

offline = {"llm_config": False, "human_input_mode": "NEVER"}


# An agent whose chats of two are journaled. Without a session_id its session is
# `agent-tester`, so that it finds itself again after a restart.
tester = PersistentAgent("tester", url="classes.db", default_auto_reply="All green.", **offline)
tester.receive("How is the build?")  # no sender: as if a person had spoken


# Any other agent class, by the mixin.
class Coder(PersistentMixin, AssistantAgent):
    """Stays an AssistantAgent."""


coder = Coder("coder", url="classes.db", default_auto_reply="Fixed in parse().", **offline)

# A group whose messages are journaled, whichever manager runs it.
chat = PersistentGroupChat(
    agents=[tester, coder],
    max_round=4,
    speaker_selection_method="round_robin",
    session_id="build",
    url="classes.db",
)
manager = GroupChatManager(groupchat=chat, llm_config=False, silent=True)
tester.initiate_chat(manager, message="The build is red: parse() fails.", silent=True)

for session in (tester.session, chat.session):
    print(f"{session.id}:")
    for message in session.messages():
        print(" ", message.seq, message.speaker, "|", message.text)
