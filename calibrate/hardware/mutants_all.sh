#!/usr/bin/env bash
# The mutants that are run on hardware, as cases.
cd "$(dirname "$0")" || exit 1
small="--set m=256 --set n=512 --set k=448"
few="--set m=384 --set n=640 --set k=448 --set machine.core.count=3"
./mutants.sh marlin_4stage ampere/marlin_4stage --set m=64 --set n=512 --set k=448
./mutants.sh naive ampere/naive $small
./mutants.sh register_prefetch ampere/register_prefetch $small
./mutants.sh smem_double_buffer ampere/smem_double_buffer $small
./mutants.sh cp_async_wgmma hopper/cp_async_wgmma $small
./mutants.sh persistent hopper/persistent $few
./mutants.sh pingpong hopper/pingpong $few
./mutants.sh tma_warp_specialized hopper/tma_warp_specialized $small
./mutants.sh tma_wgmma_8warps hopper/tma_wgmma_8warps $small
./mutants.sh deepgemm_sm90 correct/deepgemm_sm90 --set tiles=7
./mutants.sh ordered_sequence correct/ordered_sequence --set tiles=7
./mutants.sh sm80_multistage correct/sm80_multistage --set tiles=7
./mutants.sh tma_async correct/tma_async --set tiles=7
