#!/usr/bin/env bash
# Asks Spin about a model that `warpline export promela` wrote. Needs spin and cc; takes 20 s at most.
# Prints verdict (none, error), states stored, Spin's version, with tabs between. Fails where Spin gives no verdict.
set -euo pipefail
model=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
spin -a "$model" >spin.log 2>&1 || { cat spin.log >&2; exit 1; }
cc -O1 -DSAFETY -DVECTORSZ=65536 -DMEMLIM=2048 -o pan pan.c
timeout 20 ./pan -m1000000 >pan.log 2>&1 || { echo "no verdict in 20 s" >&2; exit 1; }
if grep -q 'errors: 0' pan.log; then
    # Out of depth or memory is no verdict.
    if grep -Eq 'not completed|too small|MEMLIM' pan.log; then cat pan.log >&2; exit 1; fi
    verdict=none
else
    grep -q 'errors: 1' pan.log
    verdict=error
fi
states=$(grep -o '[0-9]* states, stored' pan.log | cut -d' ' -f1)
version=$(spin -V | grep -o '[0-9][0-9.]*[0-9]' | head -1)
printf '%s\t%s\t%s\n' "$verdict" "$states" "$version"
