"""`python -m autogen_persist.cli`, for where the command is not on the path."""

from autogen_persist.cli.main import app

app(prog_name="autogen-persist")
