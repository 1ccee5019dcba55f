#!/usr/bin/env bash
# Emits the cases of a list as CUDA C++ into a folder: emit.sh CASES OUT
# A case is a line `name | scenario | arguments of warpline emit`; `#` starts a comment.
set -euo pipefail
warpline=${WARPLINE:-warpline}
mkdir -p "$2"
while IFS='|' read -r name scenario args; do
    name=$(echo $name) scenario=$(echo $scenario)
    case "$name" in '' | '#'*) continue ;; esac
    # shellcheck disable=SC2086
    if ! "$warpline" emit "$scenario" --target cuda -o "$2/$name.cu" $args 2>"$2/$name.note"; then
        echo "not emitted: $name: $(tr '\n' ' ' <"$2/$name.note")"
        rm -f "$2/$name.cu"
    fi
done <"$1"
