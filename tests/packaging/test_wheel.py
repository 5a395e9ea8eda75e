"""The wheel, in an empty environment: what a user gets who types pip install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
UV = Path(sys.executable).with_name("uv")


def run(*command: object, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel as a build front end makes it: from the sdist."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory):
    """An environment with the wheel and no AutoGen; returns its bin folder."""
    folder = tmp_path_factory.mktemp("bare")
    run(UV, "venv", "--quiet", "--python", sys.executable, folder / "env", cwd=folder)
    python = folder / "env" / "bin" / "python"
    run(UV, "pip", "install", "--quiet", "--python", python, "-c", ROOT / "constraints.txt",
        f"autogen-persist[postgres] @ {wheel.as_uri()}", cwd=folder)  # fmt: skip
    return python.parent


def test_the_store_works_without_autogen(bare, tmp_path):
    """Import, create, write and read, with the migrations out of the wheel."""
    code = (
        "from autogen_persist import Store\n"
        "with Store.open('a.db') as store:\n"
        "    print(store.append('s', 'coder', {'content': 'hi'}).seq, store.messages('s')[0].text)"
    )
    assert run(bare / "python", "-c", code, cwd=tmp_path).stdout == "1 hi\n"


def test_the_command_upgrades_a_database(bare, tmp_path):
    """`autogen-persist db upgrade` and `db check` work from the wheel."""
    command = bare / "autogen-persist"
    run(command, "db", "upgrade", "--url", "a.db", cwd=tmp_path)

    assert run(command, "db", "check", "--url", "a.db", cwd=tmp_path).returncode == 0


def test_a_postgresql_is_upgraded_by_command_and_used(bare, tmp_path, new_postgres_url):
    """The wheel brings what PostgreSQL needs, by its extra."""
    address = new_postgres_url()
    run(bare / "autogen-persist", "db", "upgrade", "--url", address, cwd=tmp_path)
    code = (
        "import sys; from autogen_persist import Store\n"
        "print(Store.open(sys.argv[1]).append('s', 'coder', {'content': 'hi'}).seq)"
    )
    assert run(bare / "python", "-c", code, address, cwd=tmp_path).stdout == "1\n"


@pytest.mark.parametrize("name", ["persist(object())", "PersistentAgent", "PersistentGroupChat"])
def test_what_needs_autogen_says_so(bare, tmp_path, name):
    """One clear error that names the command which helps."""
    code = f"import autogen_persist\nautogen_persist.{name}"
    error = run(bare / "python", "-c", code, cwd=tmp_path, check=False).stderr

    assert "AutoGenNotFound" in error
    assert "found no distribution of it" in error
    assert "pip install 'autogen-persist[pyautogen]'" in error


@pytest.mark.parametrize("package", ["pyautogen==0.10.0", "ag2>=1"])
def test_a_distribution_without_the_classic_module_is_named(bare, tmp_path, package):
    """Beside pyautogen 0.10 or ag2 1.x the error names what was found and what to do."""
    name = package.partition("=")[0].rstrip(">")
    python = bare / "python"
    run(UV, "pip", "install", "--quiet", "--no-deps", "--prerelease=allow", "--python", python,
        package, cwd=tmp_path)  # fmt: skip
    code = "import autogen_persist; autogen_persist.persist(object())"
    error = run(python, "-c", code, cwd=tmp_path, check=False).stderr
    run(UV, "pip", "uninstall", "--quiet", "--python", python, name, cwd=tmp_path)

    assert f"found {name} " in error
    assert f"pip uninstall -y {name} && pip install 'autogen-persist[pyautogen]'" in error


def test_the_wheel_is_typed_and_complete(wheel, tmp_path):
    """py.typed, the licence and the migrations are in it."""
    names = run(sys.executable, "-m", "zipfile", "-l", wheel, cwd=tmp_path).stdout

    for name in ("py.typed", "LICENSE", "migrations/env.py", "migrations/versions/0002_events.py"):
        assert name in names
