"""The only room that knows AutoGen."""
