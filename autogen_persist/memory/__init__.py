"""What chats taught: extracted from the journal, kept, and found again."""
