// The operations of a warpline kernel in the Metal Shading Language: one small function each. No wait here can have a
// deadline: the system ends a kernel that hangs.

#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

namespace wl {

typedef uint u32;
typedef long i64;
typedef uchar byte;
typedef uint4 word4;                // a chunk of 16 bytes
typedef threadgroup byte* slot_at;  // a place in threadgroup memory

// ---- expressions of the kernel language: `/` floors, `%` is not negative -----------------------------------------

inline int fdiv(int a, int b) {
    int q = a / b;
    return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
inline int fmod(int a, int b) {
    int r = a % b;
    return r < 0 ? r + (b < 0 ? -b : b) : r;
}
inline int ceildiv(int a, int b) { return fdiv(a, b) + (a % b != 0); }
inline int lesser(int a, int b) { return a < b ? a : b; }
inline int greater(int a, int b) { return a > b ? a : b; }
inline u32 mix(u32 h) {
    h ^= h >> 16;
    h *= 0x7feb352du;
    h ^= h >> 15;
    h *= 0x846ca68bu;
    return h ^ h >> 16;
}

// ---- an agent -----------------------------------------------------------------------------------------------------

struct Common {
    device u32* sink;   // [threadgroup][thread][2]: checksums of values that were read and not stored
    device float* sums; // [threadgroup][thread][SUMS]: accumulators that the kernel never stores
    device u32* where;  // [threadgroup][simdgroup]: the operation about to be executed, with WL_WATCH
};
struct Agent {
    int cta, warp, lane;
    u32 checked, unchecked;  // checksums of values read, with and without an expected tile
    float spent;
};

// ---- threadgroup memory -------------------------------------------------------------------------------------------

// A buffer: OFFSET bytes into the pool, slots of STRIDE bytes, rows one after the other. Apple's matrix loads take a
// row pitch and no swizzle, so the layout has none.
template <int OFFSET, int STRIDE, int ROWS, int COLS, int BITS, int SWIZZLE>
struct Buffer {
    static constexpr constant int row_bytes = COLS * BITS / 8, cols = COLS;
    static slot_at slot(slot_at pool, int s) { return pool + OFFSET + s * STRIDE; }
    static slot_at at(slot_at slot, int row, int b) { return slot + row * (COLS * BITS / 8) + b; }
};

inline word4 lds16(slot_at p) { return *(threadgroup const word4*)p; }
inline void sts16(slot_at p, word4 v) { *(threadgroup word4*)p = v; }
inline u32 lds4(slot_at p) { return *(threadgroup const u32*)p; }
inline void sts4(slot_at p, u32 v) { *(threadgroup u32*)p = v; }
inline u32 ldg4(device const byte* p) { return *(device const u32*)p; }
inline word4 ldg16(device const byte* p) { return *(device const word4*)p; }

// The value that the n-th store writes from a register object that no operation wrote: different for each store, the
// same in every run.
inline word4 made_up(u32 obj, u32 warp, u32 n, u32 chunk) {
    u32 h = mix(obj * 0x9e3779b9u ^ warp << 24 ^ n << 12 ^ chunk) & 0x3f3f3f3fu;
    word4 v;
    v.x = h, v.y = h ^ 0x01010101u, v.z = h ^ 0x02020202u, v.w = h ^ 0x03030303u;
    return v;
}
inline u32 fold(u32 h, word4 v) { return mix(mix(h ^ v.x) + v.y * 31 + mix(v.z ^ v.w * 17)); }

// A part of ROWS x BYTES, in chunks of 16 bytes; lane l of LANES has the chunks l, l + LANES, ...
template <int ROWS, int BYTES, int LANES>
struct Part {
    static constexpr constant int wide = BYTES / 16, chunks = ROWS * (BYTES / 16);
    static constexpr constant int each = (ROWS * (BYTES / 16) + LANES - 1) / LANES;
    static constexpr constant bool even = ROWS * (BYTES / 16) % LANES == 0;
};

// ---- elements -----------------------------------------------------------------------------------------------------

enum Type { F32, TF32, F16, BF16, FP8, FP4, I8, I32 };
// e2m1 as f16: exponent and mantissa go into the lowest bits of f16's; the factor 2^14 corrects the bias.
inline half from_fp4(u32 nibble) { return as_type<half>((ushort)((nibble & 8) << 12 | (nibble & 7) << 9)) * (half)16384; }
inline float from_bf16(device const byte* p) { return as_type<float>((u32)*(device const ushort*)p << 16); }
template <Type T>
inline float element(device const byte* base, i64 index) {
    switch (T) {
        case F32: case TF32: return ((device const float*)base)[index];
        case F16: return (float)((device const half*)base)[index];
        case BF16: return from_bf16(base + index * 2);
        case FP4: return (float)from_fp4(base[index / 2] >> (index & 1) * 4 & 15);
        case I8: return (float)((device const char*)base)[index];
        default: return (float)((device const int*)base)[index];
    }
}
// Eight 4-bit elements as f16.
inline word4 unpacked(u32 w) {
    word4 v;
    for (int i = 0; i < 4; i++) {
        half2 two;
        two.x = from_fp4(w >> i * 8 & 15), two.y = from_fp4(w >> (i * 8 + 4) & 15);
        v[i] = as_type<u32>(two);
    }
    return v;
}

// A tile of a matrix, for the reference: what the kernel should read.
struct Tile {
    device const byte* base = nullptr;
    int row = 0, col = 0, pitch = 0;  // elements
    template <Type T>
    float at(int r, int c) const {
        return element<T>(base, (i64)(row + r) * pitch + col + c);
    }
    template <int BITS>
    word4 chunk(int r, int b) const {
        return *(device const word4*)(base + (((i64)(row + r) * pitch + col) * BITS / 8 + b));
    }
};

// ---- matrices of 8 x 8 --------------------------------------------------------------------------------------------

// A lane has two neighbors of a row of each block.
inline int lane_row(int lane) { return (lane / 4 & 4) + lane / 2 % 4; }
inline int lane_col(int lane) { return (lane / 4 & 2) * 2 + lane % 2 * 2; }

// Multiplies M x N blocks of an accumulator from (m0, n0), K in steps of 8, from threadgroup memory. KN: b is [K, N],
// otherwise [N, K].
template <class A, class B, typename TA, typename TB, typename TC, int M, int N, int K, bool KN, int ROWS, int COLS>
inline void mma(thread simdgroup_matrix<TC, 8, 8> (&acc)[ROWS][COLS], int m0, int n0, slot_at sa, int ra, int ca, slot_at sb, int rb, int cb) {
#pragma unroll
    for (int k = 0; k < K; k++) {
        simdgroup_matrix<TA, 8, 8> a[M];
#pragma unroll
        for (int m = 0; m < M; m++)
            simdgroup_load(a[m], (threadgroup const TA*)A::at(sa, ra + m * 8, (ca + k * 8) * (int)sizeof(TA)), A::cols);
#pragma unroll
        for (int n = 0; n < N; n++) {
            simdgroup_matrix<TB, 8, 8> b;
            if (KN) simdgroup_load(b, (threadgroup const TB*)B::at(sb, rb + k * 8, (cb + n * 8) * (int)sizeof(TB)), B::cols);
            else simdgroup_load(b, (threadgroup const TB*)B::at(sb, rb + n * 8, (cb + k * 8) * (int)sizeof(TB)), B::cols, ulong2(0, 0), true);
#pragma unroll
            for (int m = 0; m < M; m++) simdgroup_multiply_accumulate(acc[m0 + m][n0 + n], a[m], b, acc[m0 + m][n0 + n]);
        }
    }
}
// Stores M x N blocks to a matrix or to threadgroup memory, converted where the types differ.
template <typename T, typename TC, int M, int N, int ROWS, int COLS>
inline void store(device byte* to, int pitch, thread simdgroup_matrix<TC, 8, 8> (&acc)[ROWS][COLS], int m0, int n0, int lane) {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                ((device T*)to)[(i64)(m * 8 + lane_row(lane)) * pitch + n * 8 + lane_col(lane) + i] = (T)acc[m0 + m][n0 + n].thread_elements()[i];
}
template <typename T, typename TC, int M, int N, int ROWS, int COLS>
inline void store(threadgroup byte* to, int pitch, thread simdgroup_matrix<TC, 8, 8> (&acc)[ROWS][COLS], int m0, int n0, int lane) {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                ((threadgroup T*)to)[(m * 8 + lane_row(lane)) * pitch + n * 8 + lane_col(lane) + i] = (T)acc[m0 + m][n0 + n].thread_elements()[i];
}
// Stores M x N blocks of the reference, whose sums are plain numbers.
template <typename T, int M, int N, int ROWS, int COLS>
inline void store_plain(device byte* to, int pitch, thread float (&acc)[ROWS][COLS], int m0, int n0, int lane) {
    for (int m = 0; m < M; m++)
        for (int i = 0; i < N * 2; i++)
            ((device T*)to)[(i64)(m * 8 + lane_row(lane)) * pitch + i / 2 * 8 + lane_col(lane) + i % 2] = (T)acc[m0 + m][n0 * 2 + i];
}
template <Type TA, Type TB, bool KN, int M, int N, int ROWS, int COLS>
inline void reference_mma(thread float (&acc)[ROWS][COLS], int m0, int n0, Tile a, Tile b, int depth, int lane) {
    for (int m = 0; m < M; m++)
        for (int i = 0; i < N * 2; i++) {
            int row = m * 8 + lane_row(lane), col = i / 2 * 8 + lane_col(lane) + i % 2;
            float s = 0;
            for (int k = 0; k < depth; k++) s += a.at<TA>(row, k) * (KN ? b.at<TB>(k, col) : b.at<TB>(col, k));
            acc[m0 + m][n0 * 2 + i] += s;
        }
}

// ---- vector arithmetic: as many operations as the kernel says, in four chains -------------------------------------

enum Unit { FMA, EXP, INT };
template <Unit U>
inline float alu(int each, float seed) {
    float x[4] = {seed, 1.f, 2.f, 3.f};
    int y[4] = {as_type<int>(seed), 1, 2, 3};
    for (int i = 0; i < each; i += 4)
        for (int c = 0; c < 4; c++) {
            if (U == FMA) x[c] = fma(x[c], x[c], x[c]);
            if (U == EXP) x[c] = exp2(x[c]);
            if (U == INT) y[c] += y[c];
        }
    return x[0] + x[1] + x[2] + x[3] + (float)(y[0] ^ y[1] ^ y[2] ^ y[3]);
}

// Keeps the compiler from removing arithmetic whose result is not used.
template <int WARPS>
inline void finish(thread Agent& a) {
    if (a.spent == 0.12345678f) a.unchecked++;
}
template <int WARPS>
inline void before(thread const Agent& a, Common common, u32 pc) {
#ifdef WL_WATCH
    if (a.lane == 0) common.where[a.cta * WARPS + a.warp] = pc + 1;
#endif
}

}  // namespace wl

