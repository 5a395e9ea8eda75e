"""The terminal: prints, decides nothing. Only the demo's team needs AutoGen."""
