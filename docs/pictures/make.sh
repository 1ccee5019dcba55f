#!/usr/bin/env bash
# Draws the pictures of the documents: two from each family, and a recording of the viewer. Deterministic: a second run
# changes nothing. WARPLINE names a program to use instead of building one.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=docs/pictures
run() { if [ -n "${WARPLINE:-}" ]; then "$WARPLINE" "$@"; else cargo run --release --quiet -- "$@"; fi; }
# Kernels with a fault are drawn too: status 1 is no failure here, another one is.
gantt() {
    local file=$1
    shift
    run gantt "$@" -o "$out/$file.svg" || [ $? -eq 1 ]
}

gantt ampere_naive ampere/naive --to 9000
gantt ampere_smem_double_buffer ampere/smem_double_buffer --to 9000
gantt attention_fa3 attention/fa3 --from 4000 --to 20000
gantt attention_fa3_dark attention/fa3 --from 4000 --to 12000 --roles math,engines,slots --theme dark --size slide
gantt blackwell_gemm_1sm blackwell/gemm_1sm
gantt level2_2sm blackwell/level2_2sm --set m=128 --set n=128 --set k=1024
gantt cdna_num_stages_2 cdna/num_stages_2 --to 20000
gantt cdna_ping_pong cdna/ping_pong --to 10000
gantt correct_ordered_sequence correct/ordered_sequence
gantt correct_tma_async correct/tma_async --ctas 1
gantt tma_warp_specialized hopper/tma_warp_specialized --to 9000 --mark "1550=the ring is full" --mark "2650=the tensor pipe starts"
gantt hopper_pingpong hopper/pingpong --from 43000 --to 53000
gantt triple_buffer metal/triple_buffer --to 26000
gantt metal_compare metal/triple_buffer --compare metal/double_buffer --to 26000
gantt mla_fused_kv mla/fused_kv
gantt mla_rope_fixed mla/rope_fixed --to 16000
gantt museum_m16 museum/m16_unconditional_order_wait/bug
# A fault that only another order shows: the run keeps to the schedule of the proof.
schedule=$(mktemp)
trap 'rm -f "$schedule"' EXIT
run verify museum/m01_leader_only_arrive/bug --quiet --schedule-out "$schedule" || [ $? -eq 1 ]
gantt museum_m01 museum/m01_leader_only_arrive/bug --schedule "$schedule"
gantt pipelined_gemm_a100 pipelined/gemm_a100 --to 12000
gantt pipelined_gemm_wgmma pipelined/gemm_h200 --to 8000 --roles math,load,engines,slots
gantt timeline_naive timeline/naive
gantt timeline_double_buffering timeline/double_buffering

run view hopper/tma_warp_specialized --from 3000 --to 8000 --dump 120x34 --exec $out/recording.txt --svg $out/view.svg
run gantt hopper/tma_warp_specialized --measured calibrate/data/h200_trace_tma_warp_specialized.csv --to 16000 \
    -o $out/tma_warp_specialized_h200.png
worst=$(mktemp -d)
run validate --recorded -o $out/validation.png --worst "$worst" > /dev/null
cp "$worst/test.smem_double_buffer.b.png" $out/validation_worst.png
rm -r "$worst"
