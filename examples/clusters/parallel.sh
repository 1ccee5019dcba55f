#!/usr/bin/env bash
# A sweep or the verification of a corpus with GNU parallel, on this machine or on several.
#
#   parallel.sh FOLDER N sweep SCENARIO --vary stages=1..6 --vary k=1024..65536+1024
#   parallel.sh FOLDER N corpus
#
# The same command does only the shares that are not finished. A share is tried three times. PARALLEL_FLAGS has more
# options of parallel: PARALLEL_FLAGS="--jobs 8", or PARALLEL_FLAGS="--sshloginfile hosts --workdir ." for machines that
# have FOLDER and this script under the same path.
set -euo pipefail

if [ $# -lt 3 ]; then sed -n '2,9s/^# \{0,1\}//p' "$0" >&2 && exit 2; fi
share=$(cd "$(dirname "$0")" && pwd)/share.sh
mkdir -p "$1"
folder=$(cd "$1" && pwd) n=$2
shift 2
read -ra flags <<< "${PARALLEL_FLAGS:-}"

# One thread a task: parallel starts a task for each core.
export RAYON_NUM_THREADS=${RAYON_NUM_THREADS:-1}
"$share" left "$folder" "$n" "$@" |
    parallel --quote --retries 3 --joblog "$folder/parallel.log" --env RAYON_NUM_THREADS "${flags[@]}" \
        "$share" do "$folder" {} "$n" "$@"
"$share" join "$folder" "$n" "$@"
