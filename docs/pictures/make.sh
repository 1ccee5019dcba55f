#!/usr/bin/env bash
# Draws the pictures that README shows. Deterministic: a second run changes nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
warpline() { cargo run --release --quiet -- "$@"; }
warpline gantt hopper/tma_warp_specialized -o docs/pictures/tma_warp_specialized.svg --to 9000
warpline gantt metal/triple_buffer -o docs/pictures/triple_buffer.svg --to 26000
warpline gantt blackwell/level2_2sm -o docs/pictures/level2_2sm.svg --set m=128 --set n=128 --set k=1024 || [ $? -eq 1 ] # it is broken, and is drawn
warpline gantt hopper/tma_warp_specialized --measured calibrate/data/h200_trace_tma_warp_specialized.csv --to 16000 \
    -o docs/pictures/tma_warp_specialized_h200.png
warpline validate --recorded -o docs/pictures/accuracy.png > /dev/null
