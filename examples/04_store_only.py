"""The journal alone, without AutoGen: for other frameworks, imports and tests."""

from autogen_persist import Store

with Store.open("store_only.db") as store:
    store.append("support-17", "customer", {"content": "My export is empty."})
    store.append("support-17", "agent", {"content": "Which format did you choose?"})
    last = store.append("support-17", "customer", {"content": "CSV", "attachments": [b"a,b\n"]})
    # `append` has returned, so these three survive a power cut.

    print(last.seq, last.at.tzinfo, last.body["attachments"])
    for message in store.messages("support-17", after=1):
        print(message.seq, message.speaker, "|", message.text)
    for record in store.sessions():
        print(f"{record.id} holds {record.messages} messages")
