#!/usr/bin/env bash
# Lists the mutants of a scenario as cases: mutants.sh NAME SCENARIO ARGUMENTS...
# The number of mutants is that of tests/it/mutation/fates.txt; `NAME.base` is the kernel itself. ONLY: letters of those to list.
set -euo pipefail
name=$1 scenario=$2
shift 2
fates=$(awk -v s="$scenario" '$1 == s { print $2 }' "$(dirname "$0")/../../tests/it/mutation/fates.txt")
echo "$name.base | $scenario | $*"
for ((i = 0; i < ${#fates}; i++)); do
    # A mutant that is refused has no text.
    letter=${fates:i:1}
    [ "$letter" = x ] || [[ "${ONLY:-$letter}" != *"$letter"* ]] || echo "$name.$i | $scenario | $* --mutant $i"
done
