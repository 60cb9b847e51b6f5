# Everything is built under target/, which maturin and cargo share. Tests are built once, in the profile
# `checked`: as release, with overflow checks and debug assertions.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export CARGO_TARGET_DIR ?= $(CURDIR)/target
# pip runs the build backend without isolation, and the backend calls `maturin` by name.
export PATH := $(CURDIR)/$(BIN):$(PATH)
STAMP := $(VENV)/.ready

.PHONY: demo test bench lint format docs mutants install clean

demo: install
	$(BIN)/headstack run examples/demo.toml --out out/demo --force
	@echo "report: out/demo/report.html"

test: export HEADSTACK_PROFILE = checked
test: export MATURIN_PEP517_ARGS = --profile checked
test: install
	cargo test --profile checked --workspace
	$(BIN)/python -m pytest

install: $(STAMP)
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps -e .

# The tools and dependencies; done again only when pyproject.toml changes.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(0 if sys.version_info >= (3, 11) else f"python: got {v}, need 3.11 or later; try make PYTHON=python3.11")'
	@command -v cargo >/dev/null || { echo "cargo: got none, need a Rust toolchain 1.85 or later" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check 'maturin>=1.13,<2'
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation -e '.[test,docs]'
	@touch $@

bench: install
	@$(BIN)/python benches/run.py

lint: install
	cargo fmt --all --check
	@# Modules that a macro declares are not followed by cargo fmt.
	git ls-files -z '*.rs' | xargs -0 rustfmt --edition 2021 --check
	RUSTFLAGS= cargo clippy --release --workspace --all-targets -- -D warnings
	$(BIN)/ruff check python tests
	$(BIN)/ruff format --check python tests
	$(BIN)/mypy

format:
	cargo fmt --all
	git ls-files -z '*.rs' | xargs -0 rustfmt --edition 2021

docs: install
	RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps
	rm -rf out/docs
	mkdir -p out/docs
	cp -R $(CARGO_TARGET_DIR)/doc out/docs/rust
	$(BIN)/python scripts/reference.py docs/index.html out/docs
	@echo "start here: out/docs/index.html"

# Takes hours; MUTANTS="--shard 1/40" takes a part.
mutants:
	env -u CARGO_TARGET_DIR scripts/mutants.sh $(MUTANTS)

clean:
	rm -rf $(VENV) out
