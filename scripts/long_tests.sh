#!/usr/bin/env bash
# A part of the long tests: random experiments and live servers with other seeds, and tests of `make test-all` in another
# order, with each commit. Drawn from the commit's hash, so that all of them run over a few commits. Tests in real time are
# left out: they need a machine without other work.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse HEAD)
seed=$((16#${commit:0:7}))
echo "long tests of commit $commit: HEADSTACK_SEED=$seed"
HEADSTACK_SEED=$seed HEADSTACK_THOROUGH=4 make test-rust RUST_TESTS="random:: world::"
echo "tests of Python in an order drawn from the commit, begun within 6 minutes"
HEADSTACK_THOROUGH=2 HEADSTACK_DRAWN_BY=$commit HEADSTACK_BEGIN_WITHIN_S=360 \
    .venv/bin/python -m pytest -m "thorough and not quiet" --timeout 3600 --durations 0 --durations-min 5
