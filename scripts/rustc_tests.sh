#!/bin/bash
# rustc for test programs: with opt-level 1. What they test keeps the settings of the profile. Cargo sets one level for a
# crate and its tests; tests have more code than what they test, and most of it runs once.
# Bash, because other shells drop variables such as CARGO_BIN_EXE_headstack-target.
case " $* " in
*" --test "*) exec "$@" -C opt-level=1 ;;
*) exec "$@" ;;
esac
