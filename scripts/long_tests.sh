#!/usr/bin/env bash
# Ten minutes of the long tests: random experiments and live servers with other seeds, and tests of `make test-all` in
# another order, with each commit. Drawn from the commit's hash, so that all of them run over a few commits.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse HEAD)
seed=$((16#${commit:0:7}))
echo "long tests of commit $commit: HEADSTACK_SEED=$seed, in an order drawn from the commit, begun within 6 minutes"
HEADSTACK_SEED=$seed HEADSTACK_THOROUGH=4 make test-rust RUST_TESTS="random:: world::"
HEADSTACK_THOROUGH=2 HEADSTACK_DRAWN_BY=$commit HEADSTACK_BEGIN_WITHIN_S=360 \
    .venv/bin/python -m pytest -m thorough --durations 0 --durations-min 5
