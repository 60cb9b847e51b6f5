#!/bin/sh
# Mutation testing of crates/drive, or of crates/$CRATE; arguments go to cargo-mutants, e.g. --shard 1/40.
# cargo-mutants follows plain `mod` lines only. Modules that a macro declares are therefore named again,
# never compiled, in a copy of the committed tree.
set -eu
crate=${CRATE:-drive}
case $crate in
drive) folders="background layout power scheduler seek cost roles mapping/policy mapping/cleaning" ;;
array) folders="layer layer/elevator warnings" ;;
control) folders="policy" ;;
trace) folders="reader" ;;
*) folders="" ;;
esac
copy=out/mutants
rm -rf "$copy"
mkdir -p "$copy"
git archive HEAD | tar -x -C "$copy"
for folder in $folders; do
    list="$copy/crates/$crate/src/$folder/mod.rs"
    for file in "$copy/crates/$crate/src/$folder"/*.rs; do
        name=$(basename "$file" .rs)
        if ! grep -q "^\(pub \|pub(crate) \)\?mod $name;" "$list" && [ "$name" != mod ]; then
            printf '#[cfg(any())]\nmod %s;\n' "$name" >>"$list"
        fi
    done
done
cd "$copy"
HEADSTACK_SHARED=$PWD/absent exec cargo mutants --package "headstack-$crate" \
    --test-package "headstack-$crate" --output .. "$@"
