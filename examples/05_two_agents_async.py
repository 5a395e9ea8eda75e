"""Two agents and asyncio: the same one line."""

import asyncio

from autogen import ConversableAgent

from autogen_persist import persist


def scripted(name, line):
    return ConversableAgent(
        name, llm_config=False, human_input_mode="NEVER", default_auto_reply=line
    )


async def main():
    coder = scripted("coder", "Renamed it to `retry_after`.")
    reviewer = scripted("reviewer", "Then I have no more wishes.")
    with persist(coder, session_id="naming", url="two_agents.db") as session:
        await reviewer.a_initiate_chat(
            coder, message="`tmp2` tells me nothing.", max_turns=2, silent=True
        )
        for message in session.messages():
            print(message.seq, message.speaker, "|", message.text)
        (end,) = session.events(kind="run_ended")
        print("ended:", end.body["reason"])


asyncio.run(main())
