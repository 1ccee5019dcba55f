#!/usr/bin/env bash
# Compiles a folder of emitted kernels and runs each: run.sh FOLDER OUT ARGUMENTS-OF-THE-HARNESS...
# Needs nvcc and an sm_90a device. OUT gets one line of JSON a kernel, with the file's name as `case`.
# FLAGS: for the compiler (default: watch and delay). JOBS: kernels run at a time (default 1; more share the device in turns).
# LIMIT: seconds that a kernel has (default 60).
set -uo pipefail
folder=$1 out=$2
shift 2
export FLAGS=${FLAGS:--DWL_WATCH -DWL_DELAY} ARGS="$*" LIMIT=${LIMIT:-60}
compile() {
    # shellcheck disable=SC2086
    nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a $FLAGS -o "${1%.cu}.x" "$1" >"${1%.cu}.log" 2>&1 ||
        echo "{\"case\":\"$(basename "${1%.cu}")\",\"outcome\":\"not compiled\"}"
}
one() {
    local name line
    name=$(basename "${1%.x}")
    # shellcheck disable=SC2086
    line=$(timeout "$LIMIT" "$1" $ARGS 2>&1 | tail -1)
    case "$line" in
        {*) echo "{\"case\":\"$name\",${line#\{}" ;;
        *) echo "{\"case\":\"$name\",\"outcome\":\"no answer\",\"error\":\"$(echo "$line" | tr -d '"' | cut -c1-120)\"}" ;;
    esac
}
export -f compile one
{
    find "$folder" -name '*.cu' | sort | xargs -P "$(nproc)" -I{} bash -c 'compile {}'
    find "$folder" -name '*.x' | sort | xargs -P "${JOBS:-1}" -I{} bash -c 'one {}'
} >"$out.part"
sort "$out.part" >"$out"
rm "$out.part"
