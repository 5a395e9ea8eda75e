"""Programs whose tools are interrupted: `unfinished_scripts.py MARK`.

URL is the database, POLICY what becomes of an unfinished tool, TOOL_LOG a file with a line
for each tool that ran, STATE the file that the final state is written to. DIE='pay 2' kills
the process in that call, after its work is done.
"""

import functools
import json
import logging
import os
import signal
import sys
import time

from autogen import ConversableAgent

from autogen_persist import idempotency_key, idempotent, instrument, once, rerun
from tests.support import kill
from tests.support.model_server import tool_call

MARKS = {"once": once, "idempotent": idempotent, "rerun": rerun, "none": lambda tool: tool}
NEVER = {"llm_config": False, "human_input_mode": "NEVER", "code_execution_config": False}


def log_tool(line):
    with open(os.environ["TOOL_LOG"], "a") as file:
        file.write(f"{line}\n")
    if os.environ.get("DIE") == line.partition(" key")[0]:
        os.kill(os.getpid(), signal.SIGKILL)


def paying(session, mark):
    """Two bills are paid; each answer carries what a clock said."""
    clock = session.effect(time.time_ns)
    ledger = []

    def pay(amount: int) -> str:
        ledger.append(amount)
        log_tool(f"pay {amount} key {idempotency_key()}")
        return f"paid {amount}, total {sum(ledger)}"

    def assist(calls, _self, messages=None, sender=None, config=None):
        if len(calls) == 2:
            return True, f"all paid at {clock()}"
        calls.append(len(calls) + 1)
        call = tool_call("pay", call_id=f"call_{len(calls)}", amount=len(calls))
        return True, {"content": f"at {clock()}", "tool_calls": [call]}

    user, assistant = ConversableAgent("user", **NEVER), ConversableAgent("assistant", **NEVER)
    user.register_function({"pay": MARKS[mark](pay)})
    assistant.register_reply([ConversableAgent, None], functools.partial(assist, []), position=0)
    user.initiate_chat(assistant, message=f"begun at {clock()}", max_turns=3)
    return {"said": user.chat_messages[assistant], "ledger": ledger}


if __name__ == "__main__":
    logging.basicConfig()
    kill.arm()
    options = {"unfinished_tool": os.environ["POLICY"]} if os.environ.get("POLICY") else {}
    opened = instrument(session_id="s", url=os.environ["URL"], **options)
    final = paying(opened, sys.argv[1])
    with open(os.environ["STATE"], "w") as file:
        json.dump(final, file)
