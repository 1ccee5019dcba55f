#!/usr/bin/env bash
# Does one share of a sweep or of a corpus, or joins the shares. slurm.sh and parallel.sh call it.
#
#   share.sh do FOLDER I N sweep SCENARIO --vary ...     the I-th of N shares of a sweep: FOLDER/part-I-of-N.json
#   share.sh do FOLDER I N corpus [--fence ...]          the I-th of N shares of the kernels in FOLDER/ptx
#   share.sh join FOLDER N sweep|corpus ...              joins the shares: FOLDER/sweep.csv, or FOLDER/verdicts.csv
#   share.sh left FOLDER N sweep|corpus ...              prints the numbers of the shares that are not finished
#
# WARPLINE and PYTHON name the command line and the interpreter; warpline and python3 by default.
set -euo pipefail

if [ $# -lt 4 ]; then sed -n '2,9s/^# \{0,1\}//p' "$0" >&2 && exit 2; fi
warpline=${WARPLINE:-warpline} python=${PYTHON:-python3}
action=$1 folder=$2
shift 2

finished() { # I N kind
    case $3 in
    sweep) [ -e "$folder/part-$1-of-$2.json" ] ;;
    corpus) [ -e "$folder/share-$1-of-$2.done" ] ;;
    *) printf 'error: expected sweep or corpus, not %s\n' "$3" >&2 && exit 2 ;;
    esac
}

case $action in
do)
    i=$1 n=$2 kind=$3
    shift 3
    mkdir -p "$folder"
    if finished "$i" "$n" "$kind"; then exit 0; fi
    if [ "$kind" = sweep ]; then
        # The state continues where an earlier attempt ended. It gets its name when the share is whole.
        state=$folder/part-$i-of-$n.run status=0
        "$warpline" sweep "$@" --shard "$i/$n" --state "$state" --quiet || status=$?
        # 1 and 3 are answers: points with a fault, or with a limit that was reached.
        [ $status = 0 ] || [ $status = 1 ] || [ $status = 3 ] || exit $status
        mv "$state" "$folder/part-$i-of-$n.json"
    else
        "$python" -m warpline.corpus verify "$folder" --shard "$i/$n" --workers "${SLURM_CPUS_PER_TASK:-1}" --quiet "$@"
        touch "$folder/share-$i-of-$n.done"
    fi
    ;;
join)
    n=$1 kind=$2
    if [ "$kind" = sweep ]; then
        parts=()
        for ((i = 1; i <= n; i++)); do parts+=("$folder/part-$i-of-$n.json"); done
        "$warpline" merge "${parts[@]}" --csv "$folder/sweep.csv" --state "$folder/sweep.json"
    else
        "$python" -m warpline.corpus report "$folder"
    fi
    ;;
left)
    n=$1 kind=$2
    for ((i = 1; i <= n; i++)); do
        finished "$i" "$n" "$kind" || printf '%d\n' "$i"
    done
    ;;
*)
    printf 'error: expected do, join or left, not %s\n' "$action" >&2
    exit 2
    ;;
esac
