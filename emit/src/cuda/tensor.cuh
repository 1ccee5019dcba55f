// ---- tensor memory and tcgen05 -------------------------------------------------------------------------------------

namespace wl {

// A matrix descriptor of tcgen05 for an operand that is contiguous along K: its swizzle field has three bits, and bit
// 46 is set.
template <class B>
__device__ __forceinline__ u64 tensor_k(u32 slot, int row, int b) {
    u32 addr = slot + b / B::panel * B::panel_bytes + row * B::panel + b % B::panel;
    u64 layout = B::swizzle == 128 ? 2 : B::swizzle == 64 ? 4 : B::swizzle == 32 ? 6 : 0;
    return (u64)((addr & 0x3ffff) >> 4) | (u64)1 << 16 | (u64)(8 * B::panel >> 4) << 32 | (u64)1 << 46 | layout << 61;
}
// The instruction descriptor: sums in f32, both operands contiguous along K.
template <Type T, int M, int N>
__device__ __forceinline__ constexpr u32 instruction() {
    return 1u << 4 | (T == BF16 ? 1u : T == TF32 ? 2u : 0u) * (1u << 7 | 1u << 10) | (u32)(N >> 3) << 17 | (u32)(M >> 4) << 24;
}
// Eight neighbors of a row that a lane holds, as elements.
template <Type T>
__device__ __forceinline__ uint4 pack8(const float* r) {
    return make_uint4(pack2(T, r[0], r[1]), pack2(T, r[2], r[3]), pack2(T, r[4], r[5]), pack2(T, r[6], r[7]));
}
// Loads words of this lane's row, from a column on, sixteen at a time.
__device__ __forceinline__ void tmem_ld16(u32 address, float* r);
__device__ __forceinline__ void tmem_st16(u32 address, const float* r);
template <int N>
__device__ __forceinline__ void tmem_ld(u32 address, float (&r)[N]) {
#pragma unroll
    for (int i = 0; i < N; i += 16) tmem_ld16(address + i, r + i);
}
template <int N>
__device__ __forceinline__ void tmem_st(u32 address, const float (&r)[N]) {
#pragma unroll
    for (int i = 0; i < N; i += 16) tmem_st16(address + i, r + i);
}

}  // namespace wl

#ifndef WL_EMULATE
// The instructions of sm_100a: compiled by us, never run.
namespace wl {

// Allocates columns of tensor memory; the address goes to a word of shared memory. All lanes of one warp execute it;
// with a pair, one warp in each CTA.
template <bool PAIR>
__device__ __forceinline__ void tmem_alloc(u32 word, u32 columns) {
    if (PAIR) asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(word), "r"(columns) : "memory");
    else asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(word), "r"(columns) : "memory");
}
template <bool PAIR>
__device__ __forceinline__ void tmem_dealloc(u32 address, u32 columns) {
    if (PAIR) asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
    else asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
}
__device__ __forceinline__ void tmem_fence_before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ __forceinline__ void tmem_fence_after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
__device__ __forceinline__ void wait_tmem_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wait_tmem_st() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

// An arrival on an mbarrier when this thread's matrix multiplications so far are complete: in this CTA, or in every CTA
// of a mask.
template <bool PAIR>
__device__ __forceinline__ void commit_umma(u32 bar) {
    if (PAIR) asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory");
    else asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory");
}
template <bool PAIR>
__device__ __forceinline__ void commit_umma_all(u32 bar, int mask) {
    if (PAIR)
        asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(bar),
                     "h"((uint16_t)mask) : "memory");
    else
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(bar),
                     "h"((uint16_t)mask) : "memory");
}

// One step along K of 32 bytes. `add`: adds to the accumulator; otherwise overwrites it.
#define WL_UMMA(GROUP, KIND)                                                                                            \
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::" GROUP ".kind::" KIND " [%0], %1, %2, %3, p; }" ::"r"(d), \
                 "l"(a), "l"(b), "r"(word), "r"(add) : "memory")
template <Type T, bool PAIR>
__device__ __forceinline__ void umma(u32 d, u64 a, u64 b, u32 word, u32 add) {
    if (T == FP8) {
        if (PAIR) WL_UMMA("2", "f8f6f4");
        else WL_UMMA("1", "f8f6f4");
    } else if (T == TF32) {
        if (PAIR) WL_UMMA("2", "tf32");
        else WL_UMMA("1", "tf32");
    } else {
        if (PAIR) WL_UMMA("2", "f16");
        else WL_UMMA("1", "f16");
    }
}
#undef WL_UMMA
// One step along K of 32 bytes with the left operand in tensor memory.
template <bool PAIR>
__device__ __forceinline__ void umma_tensor(u32 d, u32 a, u64 b, u32 word, u32 add) {
    if (PAIR)
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::2.kind::f16 [%0], [%1], %2, %3, p; }" ::"r"(d),
                     "r"(a), "l"(b), "r"(word), "r"(add) : "memory");
    else
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p; }" ::"r"(d),
                     "r"(a), "l"(b), "r"(word), "r"(add) : "memory");
}

// A warp reaches the 32 rows of its place among four.
__device__ __forceinline__ void tmem_ld16(u32 address, float* r) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, [%16];"
                 : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3]), "=f"(r[4]), "=f"(r[5]), "=f"(r[6]), "=f"(r[7]), "=f"(r[8]),
                   "=f"(r[9]), "=f"(r[10]), "=f"(r[11]), "=f"(r[12]), "=f"(r[13]), "=f"(r[14]), "=f"(r[15])
                 : "r"(address) : "memory");
}
__device__ __forceinline__ void tmem_st16(u32 address, const float* r) {
    asm volatile("tcgen05.st.sync.aligned.32x32b.x16.b32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16};" ::"r"(address),
                 "f"(r[0]), "f"(r[1]), "f"(r[2]), "f"(r[3]), "f"(r[4]), "f"(r[5]), "f"(r[6]), "f"(r[7]), "f"(r[8]), "f"(r[9]),
                 "f"(r[10]), "f"(r[11]), "f"(r[12]), "f"(r[13]), "f"(r[14]), "f"(r[15]) : "memory");
}

// A copy in one CTA of a pair whose bytes count on the mbarrier of either CTA. Only the emulation uses BYTES.
template <int BYTES>
__device__ __forceinline__ void tma_load_pair(u32 dst, const CUtensorMap* map, int col, int row, u32 bar) {
    asm volatile(
        "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(dst),
        "l"(map), "r"(col), "r"(row), "r"(bar)
        : "memory");
}
template <int BYTES>
__device__ __forceinline__ void tma_multicast_pair(u32 dst, const CUtensorMap* map, int col, int row, u32 bar, int mask) {
    asm volatile(
        "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, "
        "%3}], [%4], %5;" ::"r"(dst),
        "l"(map), "r"(col), "r"(row), "r"(bar), "h"((uint16_t)mask)
        : "memory");
}

// Asks for the next cluster of the grid (`clusterlaunchcontrol.try_cancel`): 16 bytes here or in every CTA of the
// cluster, counted on an mbarrier.
template <bool CLUSTER>
__device__ __forceinline__ void clc_next(u32 dst, u32 bar) {
    if (CLUSTER)
        asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%0], [%1];" ::"r"(dst),
                     "r"(bar) : "memory");
    else
        asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(dst), "r"(bar) : "memory");
}
// The launch index of the cluster that was taken, or -1.
__device__ __forceinline__ int clc_tile(u32 src, int cluster) {
    u32 x, got;
    asm volatile("{ .reg .b128 r; .reg .pred p; ld.shared.b128 r, [%2]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r; "
                 "selp.u32 %0, 1, 0, p; mov.u32 %1, 0; @p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, r; }"
                 : "=r"(got), "=r"(x) : "r"(src) : "memory");
    return got ? (int)x / cluster : -1;
}

}  // namespace wl
#endif  // WL_EMULATE
