"""What a team learns from its chats, and how it is found again."""
