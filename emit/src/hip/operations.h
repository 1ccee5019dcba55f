// ---- LDS and global memory ----------------------------------------------------------------------------------------
// With WL_MANUAL the only waits between a load and its use are the kernel's own `s_waitcnt`. So loads are written as
// inline assembly, for which the compiler adds no wait, and `hold` keeps each register's uses behind its wait. Without
// WL_MANUAL the compiler waits.

__device__ __forceinline__ u32 smem(const void* p) { return (u32)(size_t)(__attribute__((address_space(3))) const byte*)p; }

#if WL_MANUAL
__device__ __forceinline__ word4 lds16(u32 a) {
    word4 v;
    asm volatile("ds_read_b128 %0, %1" : "=v"(v) : "v"(a) : "memory");
    return v;
}
__device__ __forceinline__ void sts16(u32 a, word4 v) { asm volatile("ds_write_b128 %0, %1" ::"v"(a), "v"(v) : "memory"); }
__device__ __forceinline__ word4 ldg16(const void* p) {
    word4 v;
    asm volatile("global_load_dwordx4 %0, %1, off" : "=v"(v) : "v"(p) : "memory");
    return v;
}
__device__ __forceinline__ void hold(word4& v) { asm volatile("" : "+v"(v)::"memory"); }
__device__ __forceinline__ void barrier() { asm volatile("s_barrier" ::: "memory"); }
#else
__device__ __forceinline__ word4 lds16(u32 a) { return *(__attribute__((address_space(3))) const word4*)(size_t)a; }
__device__ __forceinline__ void sts16(u32 a, word4 v) { *(__attribute__((address_space(3))) word4*)(size_t)a = v; }
__device__ __forceinline__ word4 ldg16(const void* p) { return *(const word4*)p; }
__device__ __forceinline__ void barrier() { __syncthreads(); }
#endif
__device__ __forceinline__ word4 load16(const void* p) { return *(const word4*)p; }
__device__ __forceinline__ void barrier_alone() { asm volatile("s_barrier" ::: "memory"); }
__device__ __forceinline__ u32 lds4(u32 a) { return *(__attribute__((address_space(3))) volatile const u32*)(size_t)a; }
__device__ __forceinline__ void sts4(u32 a, u32 v) { *(__attribute__((address_space(3))) volatile u32*)(size_t)a = v; }
__device__ __forceinline__ void sts2(u32 a, uint16_t v) { *(__attribute__((address_space(3))) uint16_t*)(size_t)a = v; }

// A buffer resource (V#) for all memory from an address on.
__device__ __forceinline__ word4 resource(const void* p) {
    u64 a = (u64)p;
    word4 r = {(u32)__builtin_amdgcn_readfirstlane((u32)a), (u32)__builtin_amdgcn_readfirstlane((u32)(a >> 32) & 0xffff), 0xffffffffu, 0x00020000u};
    return r;
}
// One instruction: each lane loads DMA_BYTES from its offset, and LDS receives them from M0 on, in the order of the
// lanes. Counts on vmcnt.
__device__ __forceinline__ void buffer_load_lds(word4 r, u32 offset, u32 lds) {
#if DMA_BYTES == 16
    asm volatile("s_mov_b32 m0, %0\n s_nop 0\n buffer_load_dwordx4 %1, %2, 0 offen lds" ::"s"(lds), "v"(offset), "s"(r) : "memory");
#else
    asm volatile("s_mov_b32 m0, %0\n s_nop 0\n buffer_load_dword %1, %2, 0 offen lds" ::"s"(lds), "v"(offset), "s"(r) : "memory");
#endif
}
// Copies ROWS rows of BYTES from a matrix to a slot, from row `row` and byte `b`. LDS is filled in order, so each lane
// loads the bytes that belong at its place: the swizzle is in the addresses of the matrix.
template <class B, int ROWS, int BYTES>
__device__ __forceinline__ void dma(u32 slot, int row, int b, const byte* from, int pitch, int lane) {
    constexpr int each = ROWS * B::panel / (64 * DMA_BYTES);
    static_assert(ROWS * B::panel % (64 * DMA_BYTES) == 0 && BYTES % B::panel == 0, "whole instructions");
    const word4 r = resource(from);
#pragma unroll
    for (int p = 0; p < BYTES / B::panel; p++)
#pragma unroll
        for (int j = 0; j < each; j++) {
            int o = (j * 64 + lane) * DMA_BYTES, place = row * B::panel + o;
            int column = (place ^ (place >> 7 & B::mask) << 4) % B::panel;
            u32 lds = slot + (b / B::panel + p) * B::panel_bytes + row * B::panel + j * 64 * DMA_BYTES;
            buffer_load_lds(r, o / B::panel * pitch + p * B::panel + column, __builtin_amdgcn_readfirstlane(lds));
        }
}

// Checks values that were only read, once they have arrived. One checksum is for values that the kernel states, one
// for the others.
template <int SLOTS, int EACH>
__device__ __forceinline__ void look_at(Agent& a, word4 (&v)[SLOTS][EACH], u32 (&due)[SLOTS]) {
    for (int s = 0; s < SLOTS; s++) {
        if (due[s] == 1) for (int j = 0; j < EACH; j++) a.checked = fold(a.checked, v[s][j]);
        if (due[s] == 2) for (int j = 0; j < EACH; j++) a.unchecked = fold(a.unchecked, v[s][j]);
        due[s] = 0;
    }
    // The compiler must add here and not later; otherwise all values that were ever read stay in registers.
    asm volatile("" : "+v"(a.checked), "+v"(a.unchecked));
}

// ---- waits --------------------------------------------------------------------------------------------------------

// Waits until at most n vector-memory instructions of this wave are outstanding; the field has six bits.
__device__ __forceinline__ void wait_vm(int n) {
#define WL_1(N) \
    case N: asm volatile("s_waitcnt vmcnt(" #N ")" ::: "memory"); break;
#define WL_10(N) WL_1(N##0) WL_1(N##1) WL_1(N##2) WL_1(N##3) WL_1(N##4) WL_1(N##5) WL_1(N##6) WL_1(N##7) WL_1(N##8) WL_1(N##9)
    switch (n) {
        WL_1(0) WL_1(1) WL_1(2) WL_1(3) WL_1(4) WL_1(5) WL_1(6) WL_1(7) WL_1(8) WL_1(9)
        WL_10(1) WL_10(2) WL_10(3) WL_10(4) WL_10(5) WL_1(60) WL_1(61) WL_1(62)
        default: asm volatile("s_waitcnt vmcnt(63)" ::: "memory");
    }
#undef WL_10
#undef WL_1
}
// Waits until at most n LDS instructions of this wave are outstanding; the field has four bits.
__device__ __forceinline__ void wait_lgkm(int n) {
#define WL_1(N) \
    case N: asm volatile("s_waitcnt lgkmcnt(" #N ")" ::: "memory"); break;
    switch (n) {
        WL_1(0) WL_1(1) WL_1(2) WL_1(3) WL_1(4) WL_1(5) WL_1(6) WL_1(7) WL_1(8) WL_1(9) WL_1(10) WL_1(11) WL_1(12) WL_1(13) WL_1(14)
        default: asm volatile("s_waitcnt lgkmcnt(15)" ::: "memory");
    }
#undef WL_1
}
__device__ __forceinline__ void wave_barrier() { __builtin_amdgcn_wave_barrier(); }

// ---- matrix instructions ------------------------------------------------------------------------------------------

typedef float f4 __attribute__((ext_vector_type(4)));
typedef short s4 __attribute__((ext_vector_type(4)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef _Float16 h8 __attribute__((ext_vector_type(8)));
typedef __bf16 b8 __attribute__((ext_vector_type(8)));

// A block of 16 x 16, with 32 k-steps of 16-bit elements or 64 of 8-bit ones. A lane's 16 bytes are from row (column of
// the right operand) lane % 16, from byte lane / 16 * 16. Both operands take the same k-steps in the same order, so
// that the order does not matter.
template <Type T>
__device__ __forceinline__ void mfma(float* d, word4 a, word4 b) {
#ifdef __HIP_DEVICE_COMPILE__
    f4 c = {d[0], d[1], d[2], d[3]};
    if constexpr (T == BF16) {
#ifdef __gfx950__
        c = __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(b8, a), __builtin_bit_cast(b8, b), c, 0, 0, 0);
#else
        struct Two { s4 x, y; };
        Two p = __builtin_bit_cast(Two, a), q = __builtin_bit_cast(Two, b);
        c = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(p.x, q.x, c, 0, 0, 0);
        c = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(p.y, q.y, c, 0, 0, 0);
#endif
    } else if constexpr (T == F16) {
#ifdef __gfx950__
        c = __builtin_amdgcn_mfma_f32_16x16x32_f16(__builtin_bit_cast(h8, a), __builtin_bit_cast(h8, b), c, 0, 0, 0);
#else
        struct Two { h4 x, y; };
        Two p = __builtin_bit_cast(Two, a), q = __builtin_bit_cast(Two, b);
        c = __builtin_amdgcn_mfma_f32_16x16x16f16(p.x, q.x, c, 0, 0, 0);
        c = __builtin_amdgcn_mfma_f32_16x16x16f16(p.y, q.y, c, 0, 0, 0);
#endif
    } else {
        struct Two { long x, y; };
        Two p = __builtin_bit_cast(Two, a), q = __builtin_bit_cast(Two, b);
        c = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(p.x, q.x, c, 0, 0, 0);
        c = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(p.y, q.y, c, 0, 0, 0);
    }
    d[0] = c[0], d[1] = c[1], d[2] = c[2], d[3] = c[3];
#endif
}
// This lane's 16 bytes of a block of 16 rows from `row`, 64 bytes from `b`.
template <class B>
__device__ __forceinline__ word4 fragment(u32 slot, int row, int b, int lane) {
    return lds16(B::at(slot, row + lane % 16, b + lane / 16 * 16));
}

// ---- vector arithmetic: as many operations as the kernel says, in four chains -------------------------------------

enum Unit { FMA, EXP, INT };
template <Unit U>
__device__ __forceinline__ void alu(int each, float seed) {
#ifdef __HIP_DEVICE_COMPILE__
    float x[4] = {seed, 1.f, 2.f, 3.f};
    int y[4] = {__float_as_int(seed), 1, 2, 3};
#pragma unroll 4
    for (int i = 0; i < each; i += 4)
#pragma unroll
        for (int c = 0; c < 4; c++) {
            if (U == FMA) asm volatile("v_fma_f32 %0, %0, %0, %0" : "+v"(x[c]));
            if (U == EXP) asm volatile("v_exp_f32 %0, %0" : "+v"(x[c]));
            if (U == INT) asm volatile("v_add_u32 %0, %0, %0" : "+v"(y[c]));
        }
#endif
}

// ---- sums as elements ---------------------------------------------------------------------------------------------

// Calls f with each element of MT x NT blocks: row, column, and the index of its value. A lane has four rows of one
// column.
template <int MT, int NT, class F>
__device__ __forceinline__ void each_sum(int lane, F f) {
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < NT; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) f(m * 16 + lane / 16 * 4 + i, n * 16 + lane % 16, m, n * 4 + i);
}
template <Type T>
__device__ __forceinline__ void put(byte* base, i64 index, float x) {
    if (T == F32) ((float*)base)[index] = x;
    else if (T == F16) to_f16(base + index * 2, x);
    else to_bf16(base + index * 2, x);
}
template <Type T>
__device__ __forceinline__ void put_shared(u32 a, float x) {
    if (T == F32) sts4(a, __float_as_uint(x));
    else if (T == F16) sts2(a, __builtin_bit_cast(uint16_t, (_Float16)x));
    else sts2(a, bf16_bits(x));
}
// Adds the product of two tiles to MT x NT blocks of an accumulator, element by element from global memory: the
// reference. KN: b is [K, N], otherwise [N, K].
template <Type TA, Type TB, bool KN, int MT, int NT, int M, int N>
__device__ void reference_mma(float (&acc)[M][N], int m0, int n0, const Tile& a, const Tile& b, int depth, int lane) {
#pragma unroll 1
    for (int m = 0; m < MT; m++)
#pragma unroll 1
        for (int i = 0; i < NT * 4; i++) {
            int row = m * 16 + lane / 16 * 4 + i % 4, col = i / 4 * 16 + lane % 16;
            float s = 0;
            for (int k = 0; k < depth; k++) s += a.at<TA>(row, k) * (KN ? b.at<TB>(k, col) : b.at<TB>(col, k));
            acc[m0 + m][n0 * 4 + i] += s;
        }
}

}  // namespace wl

