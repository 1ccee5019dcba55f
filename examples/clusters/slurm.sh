#!/usr/bin/env bash
# A sweep or the verification of a corpus as a Slurm array. A last job joins the shares.
#
#   slurm.sh FOLDER N sweep SCENARIO --vary stages=1..6 --vary k=1024..65536+1024
#   slurm.sh FOLDER N corpus
#
# FOLDER is on a file system that all nodes have. N is at most MaxArraySize - 1 (1,000 by default); take N so that a
# share runs for a minute or more. The same command submits only the shares that are not finished. A share is tried
# three times. SBATCH_FLAGS has more options of sbatch (SBATCH_FLAGS="--partition=cpu --cpus-per-task=4").
# WAIT=1 waits for the last job.
set -euo pipefail

if [ $# -lt 3 ]; then sed -n '2,10s/^# \{0,1\}//p' "$0" >&2 && exit 2; fi
share=$(cd "$(dirname "$0")" && pwd)/share.sh
mkdir -p "$1"
folder=$(cd "$1" && pwd) n=$2
shift 2
read -ra flags <<< "${SBATCH_FLAGS:-}"

left=$("$share" left "$folder" "$n" "$@" | paste -sd,)
depends=()
if [ -n "$left" ]; then
    task="for attempt in 1 2 3; do $(printf '%q ' "$share" do "$folder") \$SLURM_ARRAY_TASK_ID $(printf '%q ' "$n" "$@") && exit 0; done; exit 1"
    job=$(sbatch --parsable --requeue --job-name="warpline $1" --array="$left" --output="$folder/log-%a.txt" "${flags[@]}" --wrap="$task")
    printf 'array job %s: shares %s of %d\n' "$job" "$left" "$n"
    depends=(--dependency="afterok:$job" --kill-on-invalid-dep=yes)
fi
sbatch ${WAIT:+--wait} "${depends[@]}" --job-name="warpline join" --output="$folder/log-join.txt" "${flags[@]}" \
    --wrap="$(printf '%q ' "$share" join "$folder" "$n" "$@")"
