"""The only room that knows SQL."""

from autogen_persist.store.store import Store as Store
