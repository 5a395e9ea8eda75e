"""The architecture is the folder list: who may import whom, and one door per library."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "autogen_persist"
FILES = sorted(PACKAGE.rglob("*.py"))
BASE = {"records", "errors", "options"}
MAY_USE = {
    "records": set(),
    "errors": set(),
    "options": {"errors"},
    "store": {"records", "errors", "store"},
    "memory": BASE | {"store", "memory"},
    "session": BASE | {"store"},
    "opening": BASE | {"store", "session"},
    "chat": BASE | {"store", "session", "chat", "persist"},
    "persist": BASE | {"store", "session", "opening", "chat"},
    "cli": BASE | {"store", "memory", "session", "opening", "chat", "persist", "cli", ""},
    "__init__": BASE | {"store", "session", "chat", "persist"},
}
DOORS = {
    "sqlalchemy": "store",
    "alembic": "store",
    "autogen": "chat",
    "typer": "cli",
    "rich": "cli",
}


def imports(path: Path) -> set[str]:
    """The modules that a file imports when it runs."""
    found = set()
    for node in ast.walk(_without_type_checking(ast.parse(path.read_text()))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _without_type_checking(tree: ast.Module) -> ast.Module:
    tree.body = [n for n in tree.body if not (isinstance(n, ast.If) and "TYPE" in ast.dump(n.test))]
    return tree


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_room_uses_only_the_rooms_below_it(path):
    """A message goes through the rooms in one direction."""
    ours = (name for name in imports(path) if name.startswith("autogen_persist."))
    rooms = {name.split(".")[1] for name in ours} & set(MAY_USE)
    assert rooms <= MAY_USE[room(path)], f"{path.name} uses {rooms - MAY_USE[room(path)]}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_library_has_one_door(path):
    """SQL only in store, AutoGen only in chat, the terminal only in cli."""
    for library in {name.split(".")[0] for name in imports(path)} & set(DOORS):
        allowed = {DOORS[library], "cli"} if library == "autogen" else {DOORS[library]}
        assert room(path) in allowed, f"{path.name} imports {library}"
