# Everything here needs python3, pip, make and git; the rest is fetched into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
COMPAT := pyautogen-0.2.35 autogen-agentchat-0.2.40 pyautogen-0.9 ag2-0.14.0 autogen-0.14.1

# As pip does: trust the certificates that the system trusts.
export UV_SYSTEM_CERTS ?= 1

.SECONDARY:  # keep the environments of the matrix
.PHONY: demo test check lint types compat crash autogen-suite bench bench-recall clean

demo: $(VENV)/ready
	$(BIN)/autogen-persist demo

test: $(VENV)/ready
	$(BIN)/python -m pytest

check: lint types test

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready
	$(BIN)/mypy

# The same scenarios in every distribution that ships `import autogen`.
compat: $(COMPAT:%=compat-%)
compat-%: .compat/%/ready
	.compat/$*/bin/python -m pytest tests/compat

# Kills at every point, in every distribution; `make crash SAMPLE=2` tries 2 of each scenario.
crash: $(COMPAT:%=.compat/%/ready)
	$(BIN)/python -m tests.crash.matrix $(COMPAT:%=--distribution %) $(SAMPLE:%=--sample %)

# AutoGen's own tests with every agent persisted: make autogen-suite TESTS=path/to/test/agentchat
autogen-suite: $(VENV)/ready
	AUTOGEN_PERSIST_URL=$$(mktemp -d)/suite.db $(BIN)/python -m pytest \
	  -p tests.support.everything_persisted $(TESTS)

bench: $(VENV)/bench-ready
	$(BIN)/python -m benchmarks

# How well and how fast things are found: make bench-recall DATA=locomo10.json [SIZE=100000]
bench-recall: $(VENV)/ready
	$(BIN)/python -m benchmarks.recall $(if $(DATA),--data $(DATA)) $(if $(SIZE),--size $(SIZE))

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt \
	  --group dev -e '.[pyautogen,postgres]'
	touch $@

$(VENV)/bench-ready: $(VENV)/ready
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt --group bench
	touch $@

.compat/%/ready: tests/compat/environments/%.txt pyproject.toml $(VENV)/ready
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .compat/$*
	$(BIN)/uv pip install --quiet --python .compat/$*/bin/python -r $< -e '.[postgres]'
	touch $@

clean:
	rm -rf $(VENV) .compat dist
