#!/bin/sh
# rustc for test programs: with opt-level 1. What they test keeps the settings of the profile. Cargo sets one level for a
# crate and its tests; tests have more code than what they test, and most of it runs once.
case " $* " in
*" --test "*) exec "$@" -C opt-level=1 ;;
*) exec "$@" ;;
esac
