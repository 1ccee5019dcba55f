#!/usr/bin/env bash
# Mutants of a kernel for sm_100a that are run on sm_90a with -DWL_EMULATE, as cases: those that the verifier calls harmless.
cd "$(dirname "$0")" || exit 1
ONLY=ebon ./mutants.sh deepgemm_sm100 correct/deepgemm_sm100 --set tiles=5 --set jobs=3
