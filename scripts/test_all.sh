#!/usr/bin/env bash
# All tests, with those that take long, built with overflow and debug assertions. Each part runs, whatever the one before
# says; the last lines are their times. Called by `make test-all`, which has installed what they need.
set -uo pipefail
cd "$(dirname "$0")/.."
export HEADSTACK_THOROUGH=${HEADSTACK_THOROUGH:-2} HEADSTACK_LOAD_SECONDS=${HEADSTACK_LOAD_SECONDS:-150}
export RUSTC_WRAPPER=$PWD/scripts/rustc_tests.sh
checked=(--release --config .cargo/checked.toml)
limit=()
! command -v timeout >/dev/null || limit=(--config 'target."cfg(unix)".runner="timeout --foreground -k 10 3600"')
failed=0 times=
part() {
    local name=$1 begin=$SECONDS result=passed
    shift
    "$@" || { result=failed failed=1; }
    times+=$(printf '%-32s %-8s %5d s' "$name" $result $((SECONDS - begin)))$'\n'
}
pytest() {
    .venv/bin/python -m pytest --timeout 3600 --durations 12 --durations-min 10 "$@"
}
part "Rust: compile" cargo test "${checked[@]}" --workspace --no-run
part "Rust" cargo test "${checked[@]}" "${limit[@]}" --workspace --no-fail-fast
unset RUSTC_WRAPPER
part "Python: compile" .venv/bin/maturin develop -q --skip-install "${checked[@]}"
part "Python" pytest -m "not quiet" -n 2 --dist loadfile
part "Python, in real time" pytest -m quiet -n 2 --dist loadfile --no-loadscope-reorder
echo "HEADSTACK_THOROUGH=$HEADSTACK_THOROUGH, $SECONDS s in all"
echo -n "$times"
exit $failed
