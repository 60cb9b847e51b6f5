# Everything is built under target/, which maturin and cargo share, once and as `release`. `test-all` builds with the
# settings of .cargo/checked.toml on top; other people's crates are the same in both.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export CARGO_TARGET_DIR ?= $(CURDIR)/target
# pip runs the build backend without isolation, and the backend calls `maturin` by name.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Compiled Python is kept here, also where the environment forbids it beside the sources: without it each process of
# the tests compiles pandas and Altair again, for two seconds.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX ?= $(CARGO_TARGET_DIR)/pycache
STAMP := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check
# What is imported is compiled at first use; all of it would take longer than the rest of the installation.
PIP_INSTALL := $(PIP) install -q --no-compile
# Servers and probes are built once something needs them, and from then on.
PARTS = $(if $(wildcard $(VENV)/.live),,--no-default-features)
# Output of what runs side by side is printed when each part ends.
APART := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

# Each program of Rust tests ends after so many seconds; tests of Python have limits of their own (pyproject.toml). In
# the foreground, so that Ctrl-C reaches it.
LIMIT = $(if $(shell command -v timeout),--config 'target."cfg(unix)".runner="timeout --foreground -k 10 600"')

.PHONY: wheel release demo test test-all test-rust test-python bench lint format schema-types docs mutants install live clean

demo: install
	$(BIN)/headstack run examples/demo.toml --out out/demo --force
	@echo "report: out/demo/report.html"

# Small numbers of seeds and requests; `test-all` has HEADSTACK_THOROUGH times as many, and what needs long.
test: $(VENV)/.test live
	@echo "tests of Rust and of Python run side by side; each prints when it ends"
	@$(MAKE) --no-print-directory -k -j2 $(APART) test-rust test-python

test-all: $(VENV)/.test $(VENV)/.lint live
	@env -u MAKEFLAGS scripts/test_all.sh

test-rust:
	@env -u MAKEFLAGS RUSTC_WRAPPER=$(CURDIR)/scripts/rustc_tests.sh cargo test -q --release $(LIMIT) --workspace --tests $(if $(RUST_TESTS),-- $(RUST_TESTS))

test-python:
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)

install: $(STAMP)
	@$(BIN)/maturin develop -q --release --skip-install $(PARTS)

# With `headstack emulate` and `headstack probe`.
live: $(STAMP)
	@touch $(VENV)/.live
	@$(MAKE) --no-print-directory install

# The tools and dependencies; done again only when pyproject.toml changes.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(0 if sys.version_info >= (3, 11) else f"python: got {v}, need 3.11 or later; try make PYTHON=python3.11")'
	@command -v cargo >/dev/null || { echo "cargo: got none, need a Rust toolchain 1.85 or later: install rustup (https://rustup.rs) or the Debian package rustup, then rustup default stable; or install a wheel (make wheel elsewhere)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) 'maturin>=1.13,<2' $$($(BIN)/python scripts/requirements.py)
	PIP_QUIET=1 $(BIN)/maturin develop -q --release $(PARTS)
	@touch $@

# What tests, lints and documentation need besides: the extras of pyproject.toml.
$(VENV)/.test $(VENV)/.lint $(VENV)/.docs: $(VENV)/.%: $(STAMP)
	$(PIP_INSTALL) $$($(BIN)/python scripts/requirements.py $*)
	@touch $@

# A wheel for any Python from 3.11 on, with drives, pages and examples: it needs neither Rust nor this folder.
wheel: $(STAMP)
	$(BIN)/maturin build -q --release --strip --out out/wheel
	@ls -l out/wheel

# Wheel, source archive, Debian package of headstack-capd, checksums; notes are in docs/release-VERSION.md.
release: $(STAMP)
	@command -v cargo-deb >/dev/null || { echo "cargo-deb: got none, need it for the Debian package: cargo install cargo-deb" >&2; exit 1; }
	rm -rf out/release
	$(BIN)/maturin build -q --release --strip --sdist --out out/release
	cargo deb -q -p headstack-host --output out/release
	cd out/release && sha256sum * >SHA256SUMS
	@cat out/release/SHA256SUMS

bench: live
	@$(BIN)/python benches/run.py

lint: $(VENV)/.test $(VENV)/.lint install
	cargo fmt --all --check
	@# Modules that a macro declares are not followed by cargo fmt.
	git ls-files -z '*.rs' | xargs -0 rustfmt --edition 2021 --check
	RUSTFLAGS= cargo clippy --release --workspace --all-targets -- -D warnings
	@# They are a workspace of their own.
	RUSTFLAGS= cargo check --manifest-path fuzz/Cargo.toml --bins
	$(BIN)/ruff check python tests benches scripts
	$(BIN)/ruff format --check python tests benches scripts
	$(BIN)/mypy

# The Python types of experiments, drives and results and the tables of pages, from what is declared.
schema-types: install
	$(BIN)/python scripts/schema_types.py
	$(BIN)/python scripts/page_tables.py

format:
	cargo fmt --all
	git ls-files -z '*.rs' | xargs -0 rustfmt --edition 2021

docs: $(VENV)/.docs install
	RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps
	rm -rf out/docs
	$(BIN)/python scripts/site.py out/docs
	cp -R $(CARGO_TARGET_DIR)/doc out/docs/rust
	@echo "start here: out/docs/index.html"

# Takes hours; MUTANTS="--shard 1/40" takes a part.
mutants:
	env -u CARGO_TARGET_DIR scripts/mutants.sh $(MUTANTS)

clean:
	rm -rf $(VENV) out
