// ---- addresses, other CTAs -----------------------------------------------------------------------------------------

__device__ __forceinline__ u32 smem(const void* p) { return (u32)__cvta_generic_to_shared(p); }
// The same offset in another CTA of the cluster.
__device__ __forceinline__ u32 in_cta(u32 addr, u32 rank) {
    u32 r;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(addr), "r"(rank));
    return r;
}

__device__ __forceinline__ uint4 lds16(u32 a) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(a) : "memory");
    return v;
}
__device__ __forceinline__ u32 lds4(u32 a) {
    u32 v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory");
    return v;
}
__device__ __forceinline__ u32 lds1(u32 a) {
    u32 v;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(a) : "memory");
    return v;
}
__device__ __forceinline__ void sts16(u32 a, uint4 v) {
    asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(a), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ void sts16_cluster(u32 a, uint4 v) {
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(a), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ uint4 lds16_cluster(u32 a) {
    uint4 v;
    asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(a) : "memory");
    return v;
}
__device__ __forceinline__ void sts4(u32 a, u32 v) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(a), "r"(v) : "memory"); }
__device__ __forceinline__ uint4 ldg16(const void* p) {
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}

// A value that the compiler keeps in a register and does not recompute at each use.
__device__ __forceinline__ u32 keep(u32 x) {
    asm volatile("" : "+r"(x));
    return x;
}
// The address of a chunk, computed from that of another chunk of the slot, r rows and b bytes before it. In the row
// bits that the swizzle reads, r sets none that is already set. With a swizzle, b is a multiple of the panel's width.
template <class B>
__device__ __forceinline__ u32 beyond(u32 at, int r, int b) {
    int o = r * B::panel + b % B::panel;
    return (at ^ (o >> 7 & B::mask) << 4) + o + b / B::panel * B::panel_bytes;
}

// ---- copies -------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void cp_async16(u32 dst, const void* src) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(dst), "l"(src) : "memory");
}
__device__ __forceinline__ void commit_cp() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void wait_cp_n() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
__device__ __forceinline__ void wait_cp(int n) {
    switch (n) {
        case 0: wait_cp_n<0>(); break;
        case 1: wait_cp_n<1>(); break;
        case 2: wait_cp_n<2>(); break;
        case 3: wait_cp_n<3>(); break;
        case 4: wait_cp_n<4>(); break;
        case 5: wait_cp_n<5>(); break;
        case 6: wait_cp_n<6>(); break;
        case 7: wait_cp_n<7>(); break;
        case 8: wait_cp_n<8>(); break;
        case 9: wait_cp_n<9>(); break;
        case 10: wait_cp_n<10>(); break;
        case 11: wait_cp_n<11>(); break;
        default: wait_cp_n<12>();
    }
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ __forceinline__ void tma_load(u32 dst, const CUtensorMap* map, int col, int row, u32 bar) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(dst),
        "l"(map), "r"(col), "r"(row), "r"(bar)
        : "memory");
}
__device__ __forceinline__ void tma_multicast(u32 dst, const CUtensorMap* map, int col, int row, u32 bar, int mask) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, "
        "%3}], [%4], %5;" ::"r"(dst),
        "l"(map), "r"(col), "r"(row), "r"(bar), "h"((uint16_t)mask)
        : "memory");
}
__device__ __forceinline__ void tma_store(const CUtensorMap* map, int col, int row, u32 src) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(col),
                 "r"(row), "r"(src)
                 : "memory");
}
__device__ __forceinline__ void commit_bulk() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <bool READ>
__device__ __forceinline__ void wait_bulk(int n) {
#define WL_CASE(N)                                                                      \
    case N:                                                                             \
        if (READ) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); \
        else asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");          \
        break;
    switch (n) {
        WL_CASE(0) WL_CASE(1) WL_CASE(2) WL_CASE(3) WL_CASE(4) WL_CASE(5) WL_CASE(6)
        default:
            if (READ) asm volatile("cp.async.bulk.wait_group.read 7;" ::: "memory");
            else asm volatile("cp.async.bulk.wait_group 7;" ::: "memory");
    }
#undef WL_CASE
}
#endif

// ---- mbarriers ----------------------------------------------------------------------------------------------------

__device__ __forceinline__ void bar_init(u32 bar, u32 count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ __forceinline__ void bar_inval(u32 bar) { asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(bar) : "memory"); }
__device__ __forceinline__ void cp_arrive(u32 bar) { asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(bar) : "memory"); }
__device__ __forceinline__ void cp_arrive_noinc(u32 bar) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(bar) : "memory");
}
// Arrives on a barrier of this CTA; `expect_tx` first where bytes are given.
template <bool CLUSTER, bool RELAXED>
__device__ __forceinline__ void arrive(u32 bar, u32 count) {
#if __CUDA_ARCH__ >= 900
    if (RELAXED) asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(count) : "memory");
    else if (CLUSTER) asm volatile("mbarrier.arrive.release.cluster.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(count) : "memory");
    else asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(count) : "memory");
#else
    asm volatile("{ .reg .b64 s; mbarrier.arrive.noComplete.shared.b64 s, [%0], %1; }" ::"r"(bar), "r"(count) : "memory");
#endif
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ __forceinline__ void arrive_expect(u32 bar, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
__device__ __forceinline__ void expect(u32 bar, u32 bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
// Arrives on a barrier of any CTA of the cluster, given by its cluster address; `expect_tx` first where bytes are
// given.
template <bool CLUSTER, bool RELAXED>
__device__ __forceinline__ void arrive_remote(u32 bar, u32 count) {
    if (RELAXED) asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(bar), "r"(count) : "memory");
    else if (CLUSTER) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(bar), "r"(count) : "memory");
    else asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ __forceinline__ void arrive_expect_remote(u32 bar, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
__device__ __forceinline__ void expect_remote(u32 bar, u32 bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
// `try_wait`: tests whether the phase with this parity is complete, and may sleep before it answers. With a
// suspend-time hint, ptxas adds a `nanosleep` and a second test.
template <bool CLUSTER>
__device__ __forceinline__ bool try_wait(u32 bar, u32 parity) {
    u32 done;
    if (CLUSTER)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(bar), "r"(parity) : "memory");
    else
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(bar), "r"(parity) : "memory");
    return done;
}
// Past the deadline, reports who waits, and faults 2 ms later. `since` is when the first try failed, 0 before. The
// stores are under a predicate, without a branch or a `trap`. With another exit from the loop, the compiler reconverges
// the warp after each wait and repeats this code at each; kernels took up to 10 % longer (docs/validation.md#waits).
__device__ __forceinline__ void late(const Agent& a, u32& since, u32 pc, u32 bar, u32 parity) {
    Wait* w = a.common.report->waits + (a.cta * blockDim.x + threadIdx.x) % LATE;
    asm volatile("{ .reg .pred q; .reg .u32 t, end; mov.u32 t, %%globaltimer_lo; setp.eq.u32 q, %0, 0; @q sub.u32 %0, t, 1; sub.u32 t, t, %0;"
                 " setp.gt.u32 q, t, %1; @q st.volatile.global.v4.u32 [%2], {%3, %4, %5, %0};"
                 " add.u32 end, %1, 2000000; setp.gt.u32 q, t, end; @q st.volatile.global.u32 [%6], t; }"
                 : "+r"(since) : "r"(a.common.deadline_ns), "l"(w), "r"(pc * 2 + 2 + parity), "r"(a.cta),
                 "r"(bar << 16 | threadIdx.x), "l"(0ull) : "memory");
}
// Waits for the phase with this parity, until the deadline.
template <bool CLUSTER>
__device__ __forceinline__ void wait(const Agent& a, u32 pc, u32 bar, u32 index, int phase) {
    u32 parity = phase & 1, since = 0;
    while (!try_wait<CLUSTER>(bar, parity)) late(a, since, pc, index, parity);
}
#endif

// ---- barriers and fences ------------------------------------------------------------------------------------------

// Not the `.aligned` form: the lanes of a warp may have diverged.
__device__ __forceinline__ void barrier() { asm volatile("barrier.sync 0;" ::: "memory"); }
__device__ __forceinline__ void bar_sync(u32 n, u32 threads) { asm volatile("barrier.sync %0, %1;" ::"r"(n), "r"(threads) : "memory"); }
__device__ __forceinline__ void bar_arrive(u32 n, u32 threads) { asm volatile("barrier.arrive %0, %1;" ::"r"(n), "r"(threads) : "memory"); }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
__device__ __forceinline__ void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
__device__ __forceinline__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void fence_async_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
__device__ __forceinline__ void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void grid_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#endif

// ---- matrix instructions ------------------------------------------------------------------------------------------

__device__ __forceinline__ void ldmatrix4(u32 a, u32* r) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a) : "memory");
}
__device__ __forceinline__ void ldmatrix4t(u32 a, u32* r) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a) : "memory");
}
__device__ __forceinline__ void mma_bf16(float* d, const u32* a, const u32* b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void mma_f16(float* d, const u32* a, const u32* b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// The fragments of a 16 x 16 block of the left operand [M, K], and of the right operand as [K, N] and as [N, K].
template <class B>
__device__ __forceinline__ void frag_a(u32 slot, int row, int b, int lane, u32* r) {
    ldmatrix4(B::at(slot, row + (lane & 15), b + (lane >> 4) * 16), r);
}
template <class B>
__device__ __forceinline__ void frag_b_kn(u32 slot, int row, int b, int lane, u32* r) {
    ldmatrix4t(B::at(slot, row + (lane & 15), b + (lane >> 4) * 16), r);
}
template <class B>
__device__ __forceinline__ void frag_b_nk(u32 slot, int row, int b, int lane, u32* r) {
    ldmatrix4(B::at(slot, row + (lane & 7) + (lane >> 4) * 8, b + (lane >> 3 & 1) * 16), r);
}
// One k-step of 16 of a right operand [K, N] of packed 4-bit elements, for the eight columns from `col`.
template <class B>
__device__ __forceinline__ void frag_b_fp4(u32 slot, int row, int col, int lane, u32* r) {
    int n = col + lane / 4, k = row + lane % 4 * 2;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        u32 lo = lds1(B::at(slot, k + h * 8, n / 2)) >> (n & 1) * 4 & 15, hi = lds1(B::at(slot, k + h * 8 + 1, n / 2)) >> (n & 1) * 4 & 15;
        __half2 v = __halves2half2(half_of_fp4(lo), half_of_fp4(hi));
        r[h] = *(u32*)&v;
    }
}

// A matrix descriptor for wgmma: address, byte offsets and swizzle (PTX ISA, matrix descriptor). The descriptors of one
// slot differ by `at`, a multiple of 16 whose addition never carries out of the address field. So each costs one
// addition; from the address it would cost six to eight dependent instructions (docs/validation.md#waits).
__device__ __forceinline__ u64 matrix(u32 slot, u32 at, u32 lead, u32 stride, int swizzle) {
    u32 layout = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    u32 low = ((slot & 0x3ffff) >> 4 | lead >> 4 << 16) + (at >> 4), high = stride >> 4 | layout << 30;
    return (u64)high << 32 | low;
}
// An operand that is contiguous along K: rows from `row`, k-bytes from `b`. Groups of eight rows are eight atoms apart.
template <class B>
__device__ __forceinline__ u64 matrix_k(u32 slot, int row, int b) {
    return matrix(slot, b / B::panel * B::panel_bytes + row * B::panel + b % B::panel, 16, 8 * B::panel, B::swizzle);
}
// An operand that is contiguous along M or N: columns from byte `b`, k-rows from `row`.
template <class B>
__device__ __forceinline__ u64 matrix_mn(u32 slot, int row, int b) {
    return matrix(slot, b / B::panel * B::panel_bytes + row * B::panel, B::panel_bytes, 8 * B::panel, B::swizzle);
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_wgmma() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void wait_wgmma_n() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
__device__ __forceinline__ void wait_wgmma(int n) {
    switch (n) {
        case 0: wait_wgmma_n<0>(); break;
        case 1: wait_wgmma_n<1>(); break;
        case 2: wait_wgmma_n<2>(); break;
        case 3: wait_wgmma_n<3>(); break;
        default: wait_wgmma_n<4>();
    }
}
template <int N>
__device__ __forceinline__ void regs_inc() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N>
__device__ __forceinline__ void regs_dec() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }
#endif
// Keeps the compiler from moving uses of an accumulator across a wait.
template <int N>
__device__ __forceinline__ void hold(float (&r)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(r[i])::"memory");
}

// ---- vector arithmetic: as many operations as the kernel says, in four chains -------------------------------------

enum Unit { FMA, EXP, INT };
template <Unit U>
__device__ __forceinline__ void alu(int each, float seed) {
    float x[4] = {seed, 1.f, 2.f, 3.f};
    int y[4] = {__float_as_int(seed), 1, 2, 3};
#pragma unroll 4
    for (int i = 0; i < each; i += 4)
#pragma unroll
        for (int c = 0; c < 4; c++) {
            if (U == FMA) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x[c]));
            if (U == EXP) asm volatile("ex2.approx.f32 %0, %0;" : "+f"(x[c]));
            if (U == INT) asm volatile("add.s32 %0, %0, %0;" : "+r"(y[c]));
        }
}

// ---- fragments as elements ----------------------------------------------------------------------------------------

__device__ __forceinline__ u32 pack2(Type t, float x, float y) {
    if (t == BF16) {
        __nv_bfloat162 v = __floats2bfloat162_rn(x, y);
        return *(u32*)&v;
    }
    __half2 v = __floats2half2_rn(x, y);
    return *(u32*)&v;
}
template <Type T>
__device__ __forceinline__ void put2(byte* base, i64 index, float x, float y) {
    if (T == F32) *(float2*)((float*)base + index) = make_float2(x, y);
    else *(u32*)(base + index * 2) = pack2(T, x, y);
}

// Adds the product of two tiles to an accumulator, element by element from global memory: the reference. GROUP: four
// warps share 64 rows, in wgmma's layout; otherwise a warp has 16 rows, in the layout of mma.sync. KN: b is [K, N],
// otherwise [N, K].
template <Type TA, Type TB, bool KN, bool GROUP, int MT, int NE>
__device__ void reference_mma(float (&acc)[MT][NE], const Tile& a, const Tile& b, int depth, int warp, int lane) {
#pragma unroll 1
    for (int m = 0; m < MT; m++)
#pragma unroll 1
        for (int i = 0; i < NE; i++) {
            int row = m * (GROUP ? 64 : 16) + (GROUP ? warp % 4 * 16 : 0) + lane / 4 + (i >> 1 & 1) * 8;
            int col = i / 4 * 8 + lane % 4 * 2 + (i & 1);
            float s = 0;
            for (int k = 0; k < depth; k++)
                s += a.at<TA>(row, k) * (KN ? b.at<TB>(k, col) : b.at<TB>(col, k));
            acc[m][i] += s;
        }
}
// Calls f with every pair of neighboring elements of an accumulator: row, column, first index.
template <bool GROUP, int MT, int NE, class F>
__device__ __forceinline__ void each_pair(int warp, int lane, F f) {
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int i = 0; i < NE; i += 2)
            f(m * (GROUP ? 64 : 16) + (GROUP ? warp % 4 * 16 : 0) + lane / 4 + (i >> 1 & 1) * 8, i / 4 * 8 + lane % 4 * 2, m, i);
}

// Two lanes of a quad exchange two words, so that each gets the one that it needs.
__device__ __forceinline__ void exchange(u32& x, u32& y, int bit, int lane) {
    bool high = lane & bit;
    u32 send = high ? x : y, got = __shfl_xor_sync(~0u, send, bit);
    if (high) x = got;
    else y = got;
}
// An accumulator as 16-bit elements. The lanes of a quad hold two neighbors each of eight columns. Out of four groups
// of eight columns each lane collects one, so that 64 bytes of a row are written at a time.
template <Type T, bool GROUP, int MT, int NE>
__device__ __forceinline__ void store_rows(byte* to, long long pitch, const float (&acc)[MT][NE], int warp, int lane) {
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int i = 0; i < NE; i += 16)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                u32 w[4];
#pragma unroll
                for (int j = 0; j < 4; j++) w[j] = pack2(T, acc[m][i + j * 4 + h * 2], acc[m][i + j * 4 + h * 2 + 1]);
                exchange(w[0], w[1], 1, lane), exchange(w[2], w[3], 1, lane);
                exchange(w[0], w[2], 2, lane), exchange(w[1], w[3], 2, lane);
                int row = m * (GROUP ? 64 : 16) + (GROUP ? warp % 4 * 16 : 0) + lane / 4 + h * 8, col = i * 2 + lane % 4 * 8;
                *(uint4*)(to + (row * pitch + col) * 2) = make_uint4(w[0], w[1], w[2], w[3]);
            }
}

struct Box {  // of a tensor map
    int matrix, rows, cols, swizzle;
};

}  // namespace wl

