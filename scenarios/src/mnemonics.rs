//! Names of instructions in other languages, and their forms in the kernel language.
//!
//! The table serves the parser's help and `warpline explain`. A name also stands for every longer name that continues
//! it with a dot: `cp.async` covers `cp.async.ca.shared.global`, unless a longer row matches.

use warpline_sim::ir::Dtype;

/// An instruction of another language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mnemonic {
    /// Its name in that language.
    pub name: &'static str,
    /// The language: `PTX`, `SASS`, `CUDA`, `HIP`, `Metal`, `AMD ISA`, `C++`, `CUTLASS`, `Triton`, `TileLang`.
    pub of: &'static str,
    /// Its form in the kernel language; `None` where it is not supported.
    pub here: Option<&'static str>,
    /// A remark, or the reason why it is not supported.
    pub note: &'static str,
}

const fn is(of: &'static str, name: &'static str, here: &'static str, note: &'static str) -> Mnemonic {
    Mnemonic { name, of, here: Some(here), note }
}

const fn no(of: &'static str, name: &'static str, note: &'static str) -> Mnemonic {
    Mnemonic { name, of, here: None, note }
}

/// The word for a phase in the notation of other tools, as in `wait full phase 0`.
pub(crate) const PHASE: &str = "phase";

const RENDEZVOUS: &str = "n counts the threads of all participants";
const SHUFFLE: &str = "data that lanes exchange is not modeled; state the cost as `alu int N` or `takes N`";
const VALUES: &str = "values of elements are not modeled";
const COUNT: &str = "the number of operations of all executing warps";
const VOTE: &str = "votes at a barrier are not modeled; `barrier` is the barrier";
const HINT: &str = "it changes no data; leave it out";
const WAIT: &str = "p is the absolute phase; `wait b parity e` has the raw bit";
const PLACE: &str = "`warp`, `self`, `cta.m` and `cta.n` say who executes; `elect:` is one lane";

/// Every known name, by language.
pub const MNEMONICS: &[Mnemonic] = &[
    is("PTX", "cp.async", "cp g -> s", "one copy by the executing threads"),
    is("PTX", "cp.async.commit_group", "commit cp", ""),
    is("PTX", "cp.async.wait_group", "wait cp <= n", ""),
    is("PTX", "cp.async.wait_all", "wait cp <= 0", ""),
    is("PTX", "cp.async.mbarrier.arrive", "cp.arrive b", "`noinc` at the end is `.noinc`"),
    is("PTX", "cp.async.bulk.tensor", "tma g -> s signals b", "a store is `tma.store s -> g`"),
    is("PTX", "cp.async.bulk", "tma g -> s signals b", "a store is `tma.store s -> g`"),
    is("PTX", "cp.async.bulk.commit_group", "commit bulk", ""),
    is("PTX", "cp.async.bulk.wait_group", "wait bulk <= n", ""),
    is("PTX", "cp.async.bulk.wait_group.read", "wait bulk.read <= n", ""),
    is("PTX", "cp.async.bulk.prefetch", "nothing", "a prefetch changes no data; leave it out"),
    no("PTX", "cp.reduce.async.bulk", "reductions by the copy engine are not modeled; `red.add` adds to a counter"),
    is("PTX", "ldmatrix", "lds s -> r", "the layout of fragments is not modeled"),
    is("PTX", "stmatrix", "sts r -> s", "the layout of fragments is not modeled"),
    is("PTX", "ld.global", "ldg g -> r", ""),
    is("PTX", "ld.shared", "lds s -> r", ""),
    is("PTX", "st.shared", "sts r -> s", ""),
    is("PTX", "st.global", "store r -> g", ""),
    is("PTX", "ld.acquire", "ld x[e] -> v acquire gpu", "of a counter in global memory"),
    is("PTX", "st.release", "st x[e], v release gpu", "of a counter in global memory"),
    is("PTX", "st.async", "sts r -> s @cta e signals b @cta e", "the mbarrier is in the CTA that receives the data"),
    no("PTX", "red.async", "reductions that signal an mbarrier are not modeled; `red.add` adds to a counter"),
    is("PTX", "red.global.add", "red.add x[e], v", ""),
    is("PTX", "atom.global.add", "atom.add x[e], v -> old", ""),
    no("PTX", "atom", "only additions are modeled: `atom.add x[e], v -> old`"),
    no("PTX", "red", "only additions are modeled: `red.add x[e], v`"),
    is("PTX", "bar.sync", "bar sync x (n)", RENDEZVOUS),
    is("PTX", "bar.arrive", "bar arrive x (n)", RENDEZVOUS),
    is("PTX", "barrier.sync", "bar sync x (n)", RENDEZVOUS),
    is("PTX", "barrier.arrive", "bar arrive x (n)", RENDEZVOUS),
    is("PTX", "bar.warp.sync", "warp.sync", ""),
    is("PTX", "barrier.cluster.arrive", "cluster.arrive", "`relaxed` at the end is `.relaxed`"),
    is("PTX", "barrier.cluster.wait", "cluster.wait", ""),
    no("PTX", "bar.red", "votes at a barrier are not modeled; `bar sync x (n)` is the barrier"),
    is("PTX", "mbarrier.init", "init b", "the number of arrivals stands in the declaration: `mbar b[stages] (n)`"),
    is("PTX", "mbarrier.inval", "inval b", ""),
    is("PTX", "mbarrier.arrive", "arrive b", "one arrival by every executing thread; `per warp` and `once` make fewer"),
    is("PTX", "mbarrier.arrive_drop", "arrive b drop", "the phases behind the open one need these arrivals no longer"),
    is("PTX", "mbarrier.arrive.expect_tx", "arrive b expect bytes(x)", ""),
    is("PTX", "mbarrier.expect_tx", "expect b bytes(x)", ""),
    is("PTX", "mbarrier.try_wait", "wait b for p", WAIT),
    is("PTX", "mbarrier.test_wait", "wait b for p", WAIT),
    no("PTX", "mbarrier.complete_tx", "bytes are completed by copies: `tma g -> s signals b`"),
    is("PTX", "fence.proxy.async", "fence async", ""),
    is("PTX", "fence.mbarrier_init", "fence mbarrier_init", ""),
    is("PTX", "fence.acq_rel", "fence gpu", ""),
    is("PTX", "fence.sc", "fence gpu", "it is treated as `fence.acq_rel`"),
    is("PTX", "membar", "fence gpu", ""),
    is("PTX", "wgmma.mma_async", "wgmma a, b -> acc", ""),
    is("PTX", "wgmma.commit_group", "commit wgmma", ""),
    is("PTX", "wgmma.wait_group", "wait wgmma <= n", ""),
    is("PTX", "wgmma.fence.sync", "wgmma.fence", ""),
    is("PTX", "mma.sync", "mma a, b -> acc", ""),
    is("PTX", "wmma", "mma a, b -> acc", ""),
    is("PTX", "tcgen05.mma", "umma a, b -> acc", "`umma.pair` is `.cta_group::2`"),
    is("PTX", "tcgen05.commit", "commit umma -> b", ""),
    is("PTX", "tcgen05.alloc", "tmem.alloc x", ""),
    is("PTX", "tcgen05.dealloc", "tmem.dealloc x", ""),
    is("PTX", "tcgen05.ld", "tmem.ld x -> r", ""),
    is("PTX", "tcgen05.st", "tmem.st r -> x", ""),
    is("PTX", "tcgen05.wait", "wait tmem.ld <= 0", "or `wait tmem.st <= 0`"),
    is("PTX", "tcgen05.wait::ld", "wait tmem.ld <= 0", ""),
    is("PTX", "tcgen05.wait::st", "wait tmem.st <= 0", ""),
    is("PTX", "tcgen05.relinquish_alloc_permit", "nothing", "who allocates is not limited here; leave it out"),
    is("PTX", "tcgen05.fence", "tmem.fence before", "or `tmem.fence after`"),
    no("PTX", "tcgen05.cp", "copies from shared to tensor memory are not modeled"),
    no("PTX", "tcgen05.shift", "shifts of tensor memory are not modeled"),
    is("PTX", "setmaxnreg.inc", "regs inc n", ""),
    is("PTX", "setmaxnreg.dec", "regs dec n", ""),
    is("PTX", "setmaxnreg", "regs inc n", "or `regs dec n`"),
    is("PTX", "griddepcontrol.wait", "grid.wait", "waits for the kernel before, where launches overlap"),
    no("PTX", "griddepcontrol.launch_dependents", "the kernel that follows is not part of the program; leave it out"),
    is("PTX", "clusterlaunchcontrol.try_cancel", "clc -> box[i] signals b", ""),
    is("PTX", "elect.sync", "elect:", "the block runs on one lane"),
    is("PTX", "exit", "exit", ""),
    is("PTX", "ret", "exit", ""),
    no("PTX", "shfl", SHUFFLE),
    no("PTX", "redux", SHUFFLE),
    no("PTX", "vote", SHUFFLE),
    no("PTX", "match", SHUFFLE),
    no("PTX", "prmt", VALUES),
    no("PTX", "movmatrix", SHUFFLE),
    is("PTX", "ex2", "alu exp N", COUNT),
    is("PTX", "fma", "alu fma N", COUNT),
    is("PTX", "mad", "alu int N", COUNT),
    is("PTX", "lg2", "alu exp N", COUNT),
    is("PTX", "rcp", "alu exp N", COUNT),
    is("PTX", "rsqrt", "alu exp N", COUNT),
    is("PTX", "sqrt", "alu exp N", COUNT),
    is("PTX", "tanh", "alu exp N", COUNT),
    is("PTX", "sin", "alu exp N", COUNT),
    is("PTX", "cos", "alu exp N", COUNT),
    is("PTX", "add", "alu fma N", "of integers `alu int N`; N is the number of operations of all executing warps"),
    is("PTX", "sub", "alu fma N", "of integers `alu int N`; N is the number of operations of all executing warps"),
    is("PTX", "mul", "alu fma N", "of integers `alu int N`; N is the number of operations of all executing warps"),
    is("PTX", "max", "alu fma N", "of integers `alu int N`; N is the number of operations of all executing warps"),
    is("PTX", "min", "alu fma N", "of integers `alu int N`; N is the number of operations of all executing warps"),
    is("PTX", "lop3", "alu int N", COUNT),
    is("PTX", "shl", "alu int N", COUNT),
    is("PTX", "cvt", "alu int N", COUNT),
    no("PTX", "nanosleep", "a wait for a time proves nothing; wait for a barrier or a counter"),
    no("PTX", "bra", "control flow is `for`, `while` and `if`"),
    is("PTX", "prefetch", "nothing", HINT),
    is("PTX", "discard", "nothing", HINT),
    is("PTX", "createpolicy", "nothing", HINT),
    is("PTX", "applypriority", "nothing", HINT),
    no("PTX", "tensormap.replace", "tensor maps are not modeled; a `tma` names the matrix and the block"),
    no("PTX", "fence.proxy.tensormap", "tensor maps are not modeled; a `tma` names the matrix and the block"),
    no("PTX", "multimem", "other devices are not modeled"),
    no("PTX", "st.bulk", "write zeros as `sts r -> s`"),
    no("PTX", "getctarank", "write the CTA behind the place: `full[i] @cta e`"),
    no("PTX", "mapa", "write the CTA behind the place: `full[i] @cta e`"),
    is("SASS", "LDG", "ldg g -> r", ""),
    is("SASS", "STG", "store r -> g", ""),
    is("SASS", "LDGSTS", "cp g -> s", "one copy by the executing threads"),
    is("SASS", "LDGDEPBAR", "commit cp", ""),
    is("SASS", "DEPBAR", "wait cp <= n", ""),
    is("SASS", "LDSM", "lds s -> r", "the layout of fragments is not modeled"),
    is("SASS", "UTMALDG", "tma g -> s signals b", ""),
    is("SASS", "UTMASTG", "tma.store s -> g", ""),
    is("SASS", "HMMA", "mma a, b -> acc", ""),
    is("SASS", "IMMA", "mma a, b -> acc", ""),
    is("SASS", "HGMMA", "wgmma a, b -> acc", ""),
    is("SASS", "WARPGROUP.ARRIVE", "wgmma.fence", ""),
    is("SASS", "WARPGROUP.DEPBAR", "wait wgmma <= n", ""),
    is("SASS", "UTCHMMA", "umma a, b -> acc", ""),
    is("SASS", "SYNCS.PHASECHK", "wait b for p", WAIT),
    is("SASS", "SYNCS.ARRIVE", "arrive b", "or `arrive b expect bytes(x)`"),
    is("SASS", "WARPSYNC", "warp.sync", ""),
    is("SASS", "MUFU", "alu exp N", COUNT),
    is("SASS", "FFMA", "alu fma N", COUNT),
    is("SASS", "IMAD", "alu int N", COUNT),
    is("CUDA", "__syncthreads", "barrier", ""),
    is("CUDA", "__syncwarp", "warp.sync", ""),
    no("CUDA", "__syncthreads_count", VOTE),
    no("CUDA", "__syncthreads_and", VOTE),
    no("CUDA", "__syncthreads_or", VOTE),
    is("CUDA", "__threadfence", "fence gpu", ""),
    no("CUDA", "__threadfence_block", "a barrier orders memory among the threads of a CTA: `barrier`"),
    no("CUDA", "__threadfence_system", "other devices are not modeled; `fence gpu` is for one device"),
    no("CUDA", "__shfl_sync", SHUFFLE),
    no("CUDA", "__shfl_down_sync", SHUFFLE),
    no("CUDA", "__shfl_up_sync", SHUFFLE),
    no("CUDA", "__shfl_xor_sync", SHUFFLE),
    no("CUDA", "__ballot_sync", SHUFFLE),
    no("CUDA", "__reduce_add_sync", SHUFFLE),
    is("CUDA", "atomicAdd", "atom.add x[e], v -> old", "`red.add x[e], v` where the old value is not used"),
    no("CUDA", "atomicCAS", "only additions are modeled: `atom.add x[e], v -> old`"),
    no("CUDA", "atomicExch", "only additions are modeled; `st x[e], v` replaces a counter"),
    no("CUDA", "atomicMax", "only additions are modeled: `atom.add x[e], v -> old`"),
    no("CUDA", "atomicMin", "only additions are modeled: `atom.add x[e], v -> old`"),
    is("CUDA", "__pipeline_memcpy_async", "cp g -> s", ""),
    is("CUDA", "__pipeline_commit", "commit cp", ""),
    is("CUDA", "__pipeline_wait_prior", "wait cp <= n", ""),
    is("CUDA", "cudaGridDependencySynchronize", "grid.wait", ""),
    is("CUDA", "__expf", "alu exp N", COUNT),
    is("CUDA", "expf", "alu exp N", COUNT),
    is("CUDA", "exp2f", "alu exp N", COUNT),
    is("CUDA", "logf", "alu exp N", COUNT),
    is("CUDA", "rsqrtf", "alu exp N", COUNT),
    is("CUDA", "sqrtf", "alu exp N", COUNT),
    is("CUDA", "tanhf", "alu exp N", COUNT),
    is("CUDA", "fmaf", "alu fma N", COUNT),
    is("CUDA", "fmaxf", "alu fma N", COUNT),
    is("CUDA", "fminf", "alu fma N", COUNT),
    is("CUDA", "__ldg", "ldg g -> r", ""),
    no("CUDA", "__nanosleep", "a wait for a time proves nothing; wait for a barrier or a counter"),
    no("CUDA", "__any_sync", SHUFFLE),
    no("CUDA", "__all_sync", SHUFFLE),
    no("CUDA", "__match_any_sync", SHUFFLE),
    no("CUDA", "atomicOr", "only additions are modeled: `atom.add x[e], v -> old`"),
    no("CUDA", "atomicAnd", "only additions are modeled: `atom.add x[e], v -> old`"),
    is("CUDA", "wmma::load_matrix_sync", "lds s -> r", "the layout of fragments is not modeled"),
    is("CUDA", "wmma::store_matrix_sync", "store r -> g", "or `sts r -> s`"),
    is("CUDA", "wmma::mma_sync", "mma a, b -> acc", ""),
    is("CUDA", "wmma::fill_fragment", "zero acc", ""),
    is("CUDA", "cuda::memcpy_async", "cp g -> s", "with `commit cp` and `wait cp <= n`"),
    is("CUDA", "cuda::barrier", "mbar b (n)", "a declaration; `init b` before its use"),
    no("CUDA", "grid.sync", "add to a counter in global memory and wait for it; scenario `global/grid_barrier`"),
    no("CUDA", "this_grid", "`cooperative` launches all CTAs at once; scenario `global/grid_barrier` lets them meet"),
    no("CUDA", "threadIdx", PLACE),
    no("CUDA", "blockIdx", PLACE),
    no("CUDA", "blockDim", "`warps n` declares the warps of a CTA"),
    no("CUDA", "gridDim", "`grid m, n` declares the CTAs; `grid.size` is their number"),
    is("CUDA", "__launch_bounds__", "warps n", "a declaration; `regs n` are the registers of a thread"),
    no(
        "CUDA",
        "cudaTriggerProgrammaticLaunchCompletion",
        "the kernel that follows is not part of the program; leave it out",
    ),
    is("CUTLASS", "cp_async_fence", "commit cp", ""),
    is("CUTLASS", "cp_async_wait", "wait cp <= n", ""),
    is("CUTLASS", "producer_acquire", "wait empty[s] for p", WAIT),
    is("CUTLASS", "producer_commit", "arrive full[s] per warp", "copies by `tma` complete it by their bytes"),
    is("CUTLASS", "consumer_wait", "wait full[s] for p", WAIT),
    is("CUTLASS", "consumer_release", "arrive empty[s] per warp", ""),
    is("CUTLASS", "warpgroup_arrive", "wgmma.fence", ""),
    is("CUTLASS", "warpgroup_commit_batch", "commit wgmma", ""),
    is("CUTLASS", "warpgroup_wait", "wait wgmma <= n", ""),
    is("CUTLASS", "tma_store_fence", "fence async", ""),
    is("CUTLASS", "tma_store_arrive", "commit bulk", ""),
    is("CUTLASS", "tma_store_wait", "wait bulk.read <= n", ""),
    is("CUTLASS", "cluster_sync", "cluster.sync", ""),
    is("CUTLASS", "cluster_arrive", "cluster.arrive", ""),
    is("CUTLASS", "cluster_arrive_relaxed", "cluster.arrive relaxed", ""),
    is("CUTLASS", "cluster_wait", "cluster.wait", ""),
    is("CUTLASS", "elect_one_sync", "elect:", "the block runs on one lane"),
    is("Triton", "tl.load", "load g -> s", "`cp g -> s` is the asynchronous copy of a pipelined loop"),
    is("Triton", "tl.store", "store r -> g", ""),
    is("Triton", "tl.dot", "mma a, b -> acc", "`wgmma` and `umma` are the products of Hopper and Blackwell"),
    is("TileLang", "T.copy", "load g -> s", "`cp g -> s` is the asynchronous copy of a pipelined loop"),
    is("TileLang", "T.gemm", "mma a, b -> acc", "`wgmma` and `umma` are the products of Hopper and Blackwell"),
    is("CUDA", "printf", "nothing", "output changes no data; leave it out"),
    is("HIP", "__builtin_amdgcn_s_barrier", "barrier none", "it orders no memory and waits for no counter"),
    is("HIP", "__builtin_amdgcn_s_waitcnt", "wait vm <= n", "or `wait lgkm <= n`"),
    is("HIP", "__builtin_amdgcn_sched_barrier", "nothing", "it orders instructions of the compiler only; leave it out"),
    is(
        "HIP",
        "__builtin_amdgcn_sched_group_barrier",
        "nothing",
        "it orders instructions of the compiler only; leave it out",
    ),
    is("HIP", "__builtin_amdgcn_s_setprio", "nothing", "priorities of waves are not modeled; leave it out"),
    no("HIP", "__builtin_amdgcn_ds_bpermute", SHUFFLE),
    is("Metal", "threadgroup_barrier", "barrier", "`barrier none` is `mem_none`, `barrier device` is `mem_device`"),
    is("Metal", "simdgroup_barrier", "simd.barrier", ""),
    is("Metal", "simdgroup_load", "lds s -> r", ""),
    is("Metal", "simdgroup_store", "sts r -> s", "or `store r -> g`"),
    is("Metal", "simdgroup_multiply_accumulate", "mma a, b -> acc", ""),
    is(
        "Metal",
        "simdgroup_async_copy",
        "load g -> s",
        "asynchronous copies are not part of Metal's documented language",
    ),
    is("Metal", "atomic_fetch_add_explicit", "atom.add x[e], v -> old", ""),
    is("Metal", "atomic_thread_fence", "fence gpu", ""),
    no("Metal", "simd_shuffle", SHUFFLE),
    no("Metal", "simd_shuffle_down", SHUFFLE),
    no("Metal", "simd_shuffle_xor", SHUFFLE),
    no("Metal", "simd_sum", SHUFFLE),
    no("Metal", "simd_max", SHUFFLE),
    is("AMD ISA", "s_waitcnt", "wait vm <= n", "or `wait lgkm <= n`; `vmcnt(0) lgkmcnt(0)` is one line each"),
    is("AMD ISA", "s_wait_loadcnt", "wait vm <= n", ""),
    is("AMD ISA", "s_wait_dscnt", "wait lgkm <= n", ""),
    is("AMD ISA", "s_barrier", "barrier none", "it orders no memory and waits for no counter"),
    is("AMD ISA", "s_endpgm", "exit", ""),
    is("AMD ISA", "s_setprio", "nothing", "priorities of waves are not modeled; leave it out"),
    is("AMD ISA", "s_nop", "nothing", "leave it out, or state its cost with `takes N`"),
    no("AMD ISA", "s_sleep", "a wait for a time proves nothing; wait for a barrier or a counter"),
    is("AMD ISA", "buffer_load", "ldg g -> r", "with `lds` it is `dma g -> s`"),
    is("AMD ISA", "buffer_load_dword", "ldg g -> r", "with `lds` it is `dma g -> s`"),
    is("AMD ISA", "buffer_load_dwordx4", "ldg g -> r", "with `lds` it is `dma g -> s`"),
    is("AMD ISA", "global_load_lds", "dma g -> s", ""),
    is("AMD ISA", "global_load", "ldg g -> r", ""),
    is("AMD ISA", "global_store", "store r -> g", ""),
    is("AMD ISA", "buffer_store", "store r -> g", ""),
    is("AMD ISA", "ds_read", "lds s -> r", ""),
    is("AMD ISA", "ds_load", "lds s -> r", ""),
    is("AMD ISA", "ds_write", "sts r -> s", ""),
    is("AMD ISA", "ds_store", "sts r -> s", ""),
    is("AMD ISA", "v_wmma", "mma a, b -> acc", ""),
    is("AMD ISA", "global_load_lds_dword", "dma g -> s", ""),
    is("AMD ISA", "global_load_lds_dwordx4", "dma g -> s", ""),
    is("AMD ISA", "global_load_dwordx4", "ldg g -> r", ""),
    is("AMD ISA", "global_store_dwordx4", "store r -> g", ""),
    is("AMD ISA", "buffer_store_dwordx4", "store r -> g", ""),
    is("AMD ISA", "ds_read_b128", "lds s -> r", ""),
    is("AMD ISA", "ds_read_b64", "lds s -> r", ""),
    is("AMD ISA", "ds_write_b128", "sts r -> s", ""),
    is("AMD ISA", "ds_write_b64", "sts r -> s", ""),
    no("AMD ISA", "ds_bpermute_b32", SHUFFLE),
    no("AMD ISA", "v_readlane_b32", SHUFFLE),
    is("AMD ISA", "v_mfma", "mfma a, b -> acc", ""),
    is("AMD ISA", "v_mfma_f32_32x32x8_f16", "mfma a, b -> acc", "shapes follow from the operands"),
    is("AMD ISA", "v_mfma_f32_16x16x16_f16", "mfma a, b -> acc", "shapes follow from the operands"),
    is("AMD ISA", "v_exp_f32", "alu exp N", COUNT),
    is("AMD ISA", "v_fma_f32", "alu fma N", COUNT),
    no(
        "C++",
        "break",
        "a loop's trip count is fixed by its head; write `while` with the condition, or `if` around the rest",
    ),
    no("C++", "continue", "write `if` with the opposite condition around the rest of the loop"),
    is("C++", "return", "exit", "the executing agents end; barriers count them no more only where the hardware does"),
    no("C++", "goto", "control flow is `for`, `while` and `if`"),
    no("C++", "switch", "write `if` and `else`"),
    no("C++", "do", "write `while`, with the first iteration before it where it always runs"),
    is("C++", "exp", "alu exp N", COUNT),
    is("C++", "softmax", "alu exp N", "with `alu fma N` for maxima and sums; values of elements are not modeled"),
    is("C++", "int", "let x = e", "`var x = e` declares a variable that changes"),
    is("C++", "auto", "let x = e", "`var x = e` declares a variable that changes"),
    is("C++", "__shared__", "shared a[stages]: f16[64, 32]", "a declaration, before the first statement"),
];

/// Names of element types in other languages, and the type of the same width here.
const ELEMENT_TYPES: [(&str, Dtype); 27] = [
    ("double", Dtype::F64),
    ("float64", Dtype::F64),
    ("i64", Dtype::F64),
    ("u64", Dtype::F64),
    ("float", Dtype::F32),
    ("float32", Dtype::F32),
    ("half", Dtype::F16),
    ("float16", Dtype::F16),
    ("fp16", Dtype::F16),
    ("i16", Dtype::F16),
    ("u16", Dtype::F16),
    ("bfloat", Dtype::Bf16),
    ("bfloat16", Dtype::Bf16),
    ("e4m3", Dtype::Fp8),
    ("e5m2", Dtype::Fp8),
    ("float8", Dtype::Fp8),
    ("f8", Dtype::Fp8),
    ("int8", Dtype::I8),
    ("s8", Dtype::I8),
    ("u8", Dtype::I8),
    ("e2m1", Dtype::Fp4),
    ("i4", Dtype::Fp4),
    ("int4", Dtype::Fp4),
    ("int", Dtype::I32),
    ("int32", Dtype::I32),
    ("s32", Dtype::I32),
    ("u32", Dtype::I32),
];

/// A sentence about the element type of another language: the type of its width here.
pub(crate) fn element_type(name: &str) -> Option<String> {
    let (_, dtype) = ELEMENT_TYPES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name))?;
    Some(format!("`{name}` is written `{}` here, a type of {} bits", dtype.name(), dtype.bits()))
}

/// The row of a name: an exact match in either case, or the row of its longest prefix before a dot. Names of AMD's ISA
/// have underscores in its place.
pub fn mnemonic(name: &str) -> Option<&'static Mnemonic> {
    let name = name.trim_end_matches("()");
    prefix(name, '.', |_| true).or_else(|| prefix(name, '_', |m| m.of == "AMD ISA"))
}

fn prefix(name: &str, end: char, fits: impl Fn(&Mnemonic) -> bool) -> Option<&'static Mnemonic> {
    let mut part = name;
    loop {
        if let Some(found) = MNEMONICS.iter().find(|m| m.name.eq_ignore_ascii_case(part) && fits(m)) {
            return Some(found);
        }
        part = &part[..part.rfind(end)?];
    }
}

impl Mnemonic {
    /// One sentence: `cp.async` of PTX is written `cp g -> s` here.
    pub fn sentence(&self) -> String {
        let Mnemonic { name, of, here, note } = self;
        let also = if note.is_empty() { String::new() } else { format!("; {note}") };
        match here {
            Some("nothing") => format!("`{name}` of {of} has no counterpart here: {note}"),
            Some(here) => format!("`{name}` of {of} is written `{here}` here{also}"),
            None => format!("`{name}` of {of} is not supported: {note}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_part_of_a_name_that_is_known_decides() {
        let here = |name: &str| mnemonic(name).and_then(|m| m.here);
        assert_eq!(here("cp.async.ca.shared.global"), Some("cp g -> s"));
        assert_eq!(here("cp.async.wait_group"), Some("wait cp <= n"));
        assert_eq!(here("cp.async.bulk.tensor.2d.shared"), Some("tma g -> s signals b"));
        assert_eq!(here("mbarrier.arrive.expect_tx.shared"), Some("arrive b expect bytes(x)"));
        assert_eq!(here("bar.sync"), Some("bar sync x (n)"));
        assert_eq!(here("stg.e.128"), Some("store r -> g"));
        assert_eq!(here("ds_read_b64_tr_b16"), Some("lds s -> r"));
        assert_eq!(here("exit_loop"), None);
        assert_eq!(mnemonic("shfl.sync").map(|m| m.here), Some(None));
        assert_eq!(mnemonic("barier"), None);
        assert_eq!(mnemonic("cp"), None);
    }

    #[test]
    fn element_types_of_other_languages_name_the_type_of_their_width() {
        assert!(element_type("u32").is_some_and(|s| s.contains("`i32`")));
        assert!(element_type("Half").is_some_and(|s| s.contains("`f16`")));
        assert_eq!(element_type("f32x"), None);
    }

    #[test]
    fn forms_begin_with_words_of_the_language() {
        let words = crate::words::words();
        // Names of barriers and scenarios, parts of built-in names, and words of the other language.
        let others = ["full", "global/grid_barrier", "cta.m", "cta.n", "grid.size", "mem_none", "mem_device", "vmcnt"];
        let known =
            |first: &str| words.iter().any(|w| w.text == first) || others.contains(&first) || first == "fence.acq_rel";
        for m in MNEMONICS.iter().filter(|m| m.here != Some("nothing")) {
            let quoted = m.note.split('`').skip(1).step_by(2).filter(|q| !q.starts_with(['.', '(']));
            for form in m.here.into_iter().chain(quoted) {
                let word = form.trim_end_matches(':').split([' ', '(', '[']).next().unwrap_or(form);
                assert!(known(word), "{}: `{form}` begins with no word of the language", m.name);
            }
        }
    }

    #[test]
    fn names_are_listed_once_and_say_something() {
        for (i, m) in MNEMONICS.iter().enumerate() {
            assert!(MNEMONICS[..i].iter().all(|other| !other.name.eq_ignore_ascii_case(m.name)), "{} twice", m.name);
            assert!(m.here.is_some() || !m.note.is_empty(), "{} says nothing", m.name);
        }
    }
}
