// ---- -DWL_EMULATE: what sm_90a lacks, by instructions that it has --------------------------------------------------
//
// With it this file compiles for sm_90a. Everything but the functions below runs there as on sm_100a: roles, loops,
// mbarriers, copies by TMA, clusters, counts, coordinates, epilogues. The functions below replace:
//
// * Tensor memory: global memory, 128 rows of 512 words per CTA, all NaN at the start. Columns are allocated and freed
//   in blocks of 32; a use of columns that are not allocated traps. A warp reaches the 32 rows of its place among four.
// * Matrix multiplications: the thread that issues one computes it at once, from shared memory at the addresses in the
//   descriptors. With `cta_pair` it reads the other CTA through distributed shared memory. A commit is an arrival of
//   that thread.
// * A copy that signals the pair's other CTA: it waits for its own bytes first and then counts them there.
// * `clc`: a few clusters are started, and a counter hands out the other tiles.
//
// A run here shows nothing about: whether the hardware decodes the bits of the descriptors as this code does; the order
// of its asynchronous matrix multiplications and of its loads and stores of tensor memory (a missing wait or fence for
// them does no harm here); how long anything takes.
#ifdef WL_EMULATE
#define WL_EMULATED 1
namespace wl {

constexpr int TENSOR_COLUMNS = 512;
struct Tensor {  // of a CTA
    float at[128][TENSOR_COLUMNS];
};
__device__ Tensor* tensor_memory;   // of each CTA
__device__ u32 tensor_taken[CTAS];  // one bit per 32 columns
__device__ u32 handed_out;          // clusters taken, without those that were started
extern __shared__ __align__(1024) byte emulation_pool[];

__device__ __forceinline__ void refuse() { asm volatile("trap;"); }
__device__ __forceinline__ u32 cluster_rank() {
    u32 r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
// The blocks of 32 columns from `column` on, one bit each. Traps unless all are allocated.
__device__ __forceinline__ u32 tensor_blocks(u32 column, u32 columns) {
    u32 first = column / 32, last = (column + columns - 1) / 32;
    if (columns == 0 || last >= TENSOR_COLUMNS / 32) refuse();
    return (2u << last) - (1u << first);
}
__device__ __forceinline__ void tensor_in_use(int cta, u32 column, u32 columns) {
    u32 blocks = tensor_blocks(column, columns);
    if ((*(volatile u32*)&tensor_taken[cta] & blocks) != blocks) refuse();
}

template <bool PAIR>
__device__ __forceinline__ void tmem_alloc(u32 word, u32 columns) {
    if (threadIdx.x % 32 == 0) {
        u32 at = 0, taken = *(volatile u32*)&tensor_taken[blockIdx.x];
        if (columns < 32 || columns & (columns - 1)) refuse();
        while (taken & tensor_blocks(at, columns)) at += columns;
        atomicOr(&tensor_taken[blockIdx.x], tensor_blocks(at, columns));
        sts4(word, at);
    }
    __syncwarp();
}
template <bool PAIR>
__device__ __forceinline__ void tmem_dealloc(u32 address, u32 columns) {
    if (threadIdx.x % 32 == 0) {
        tensor_in_use(blockIdx.x, address, columns);
        atomicAnd(&tensor_taken[blockIdx.x], ~tensor_blocks(address, columns));
    }
    __syncwarp();
}
__device__ __forceinline__ void tmem_fence_before() {}
__device__ __forceinline__ void tmem_fence_after() {}
__device__ __forceinline__ void wait_tmem_ld() {}
__device__ __forceinline__ void wait_tmem_st() {}

template <bool PAIR>
__device__ __forceinline__ void commit_umma(u32 bar) {
    __threadfence();
    arrive_remote<true, false>(bar, 1);
}
template <bool PAIR>
__device__ __forceinline__ void commit_umma_all(u32 bar, int mask) {
    for (int c = 0; c < 16; c++)
        if (mask >> c & 1) commit_umma<PAIR>(in_cta(bar, c));
}

// Sixteen bytes of an operand: part of one row of the descriptor's matrix, in a CTA of the cluster.
__device__ __forceinline__ uint4 operand(u64 matrix, int row, int b, u32 cta) {
    u32 start = (u32)(matrix & 0x3fff) << 4, eight_rows = (u32)(matrix >> 32 & 0x3fff) << 4, layout = (u32)(matrix >> 61);
    u32 wide = layout == 2 ? 128 : layout == 4 ? 64 : layout == 6 ? 32 : 16;
    u32 at = start + row / 8 * eight_rows + row % 8 * wide + b;
    return lds16_cluster(in_cta(at ^ (at >> 7 & (wide / 16 - 1)) << 4, cta));
}
// One step along K of 32 bytes, eight rows by eight columns at a time. `left(row, b, cta)` is 16 bytes of the left
// operand.
template <Type T, bool PAIR, class Left>
__device__ void multiply(u32 d, Left left, u64 b, u32 word, u32 add) {
    const int rank = cluster_rank(), first = PAIR ? rank & ~1 : rank, ctas = PAIR ? 2 : 1;
    const int rows = word >> 24 & 31, cols = (word >> 17 & 63) * 8;
    if (rows * 16 != 128 * ctas || d >> 16) refuse();
    constexpr int each = T == FP8 ? 16 : T == TF32 ? 4 : 8;  // elements in 16 bytes
    for (int half = first; half < first + ctas; half++) {
        const int cta = blockIdx.x - rank + half;
        tensor_in_use(cta, d, cols);
#pragma unroll 1
        for (int r = 0; r < 128; r += 8)
#pragma unroll 1
            for (int c = 0; c < cols; c += 8) {
                const int from = first + c / (cols / ctas), col = c % (cols / ctas);
                float sum[8][8] = {};
#pragma unroll 1
                for (int k = 0; k < 32; k += 16) {
                    uint4 x[8], y[8];
#pragma unroll
                    for (int i = 0; i < 8; i++) x[i] = left(r + i, k, half), y[i] = operand(b, col + i, k, from);
#pragma unroll
                    for (int e = 0; e < each; e++)
#pragma unroll
                        for (int i = 0; i < 8; i++)
#pragma unroll
                            for (int j = 0; j < 8; j++)
                                sum[i][j] += element<T>((const byte*)&x[i], e) * element<T>((const byte*)&y[j], e);
                }
#pragma unroll
                for (int i = 0; i < 8; i++) {
                    float4* t = (float4*)&tensor_memory[cta].at[r + i][d + c];
#pragma unroll
                    for (int j = 0; j < 2; j++) {
                        float4 v = add ? __ldcg(t + j) : make_float4(0, 0, 0, 0);
                        v.x += sum[i][j * 4], v.y += sum[i][j * 4 + 1], v.z += sum[i][j * 4 + 2], v.w += sum[i][j * 4 + 3];
                        __stcg(t + j, v);
                    }
                }
            }
    }
}
template <Type T, bool PAIR>
__device__ __noinline__ void umma(u32 d, u64 a, u64 b, u32 word, u32 add) {
    multiply<T, PAIR>(d, [=](int r, int k, u32 cta) { return operand(a, r, k, cta); }, b, word, add);
}
// One step along K of 32 bytes with the left operand in tensor memory, two elements per word.
template <bool PAIR>
__device__ __noinline__ void umma_tensor(u32 d, u32 a, u64 b, u32 word, u32 add) {
    const int own = blockIdx.x - cluster_rank();
    auto left = [=](int r, int k, u32 cta) {
        tensor_in_use(own + cta, a, 8);
        return __ldcg((const uint4*)&tensor_memory[own + cta].at[r][a + k / 4]);
    };
    if (word >> 7 & 1) multiply<BF16, PAIR>(d, left, b, word, add);
    else multiply<F16, PAIR>(d, left, b, word, add);
}

// This lane's row of tensor memory: the address names the 32 rows of the warp's place.
__device__ __forceinline__ float4* tensor_row(u32 address) {
    u32 row = address >> 16, column = address & 0xffff;
    if (row != threadIdx.x / 32 % 4 * 32) refuse();
    tensor_in_use(blockIdx.x, column, 16);
    return (float4*)&tensor_memory[blockIdx.x].at[row + threadIdx.x % 32][column];
}
__device__ __forceinline__ void tmem_ld16(u32 address, float* r) {
    const float4* t = tensor_row(address);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float4 v = __ldcg(t + i);
        r[i * 4] = v.x, r[i * 4 + 1] = v.y, r[i * 4 + 2] = v.z, r[i * 4 + 3] = v.w;
    }
}
__device__ __forceinline__ void tmem_st16(u32 address, const float* r) {
    float4* t = tensor_row(address);
#pragma unroll
    for (int i = 0; i < 4; i++) __stcg(t + i, make_float4(r[i * 4], r[i * 4 + 1], r[i * 4 + 2], r[i * 4 + 3]));
}

// A copy by TMA signals in the CTA that it writes to. To signal the other CTA of the pair, it uses a barrier of the
// warp's own behind the pool.
template <int BYTES>
__device__ __noinline__ void tma_load_pair(u32 dst, const CUtensorMap* map, int col, int row, u32 bar) {
    u32 to;
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(to) : "r"(bar));
    if (to == cluster_rank()) return tma_load(dst, map, col, row, bar);
    const u32 own = smem(emulation_pool) + POOL_BYTES + threadIdx.x / 32 * 8;
    bar_init(own, 1);
    fence_mbarrier_init();
    fence_async();
    arrive_expect(own, BYTES);
    tma_load(dst, map, col, row, own);
    while (!try_wait<true>(own, 0)) {
    }
    bar_inval(own);
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(bar), "r"(BYTES) : "memory");
}
template <int BYTES>
__device__ void tma_multicast_pair(u32, const CUtensorMap*, int, int, u32, int) {
    static_assert(BYTES == 0, "a multicast that signals the other CTA of each pair is not emulated");
}

template <bool>
__device__ __forceinline__ void clc_next(u32 dst, u32 bar) {
    const u32 next = gridDim.x / CLUSTER + atomicAdd(&handed_out, 1u), got = next < CTAS / CLUSTER;
    for (int c = 0; c < CLUSTER; c++)
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %3}, [%4];" ::"r"(in_cta(dst, c)),
                     "r"(got), "r"(next), "r"(0), "r"(in_cta(bar, c))
                     : "memory");
}
__device__ __forceinline__ int clc_tile(u32 src, int) {
    uint4 v = lds16(src);
    return v.x ? (int)v.y : -1;
}

}  // namespace wl
#endif  // WL_EMULATE
