// The operations of a warpline kernel in HIP C++ for CDNA: one small function each, named as in the ISA. The only wait
// of these kernels for another wave is `s_barrier`, which has no deadline; the host has one. Past it the process
// reports where every wave was last seen (-DWL_WATCH) and ends, and the run with it.

#include <hip/hip_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <algorithm>
#include <string>
#include <vector>

namespace wl {

typedef uint32_t u32;
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned char byte;
typedef u32 word4 __attribute__((ext_vector_type(4)));  // a chunk of 16 bytes

// ---- clocks and elements ------------------------------------------------------------------------------------------

// A constant clock of 100 MHz, and the core's. Reading either counts on lgkmcnt. So with -DWL_STAMP every operation
// waits for the wave's LDS reads: stamped runs show order, not overlap.
__device__ __forceinline__ u64 nanoseconds() { return (u64)wall_clock64() * 10; }
__device__ __forceinline__ u64 ticks() { return __builtin_amdgcn_s_memtime(); }
__device__ __forceinline__ u32 clock32() { return (u32)__builtin_amdgcn_s_memtime(); }

__host__ __device__ __forceinline__ float from_f16(const void* p) { return (float)*(const _Float16*)p; }
__host__ __device__ __forceinline__ void to_f16(void* p, float x) { *(_Float16*)p = (_Float16)x; }
__host__ __device__ __forceinline__ float from_bf16(const void* p) {
    return __builtin_bit_cast(float, (u32)*(const uint16_t*)p << 16);
}
__host__ __device__ __forceinline__ uint16_t bf16_bits(float x) {
    u32 w = __builtin_bit_cast(u32, x);
    return (uint16_t)((w + 0x7fff + (w >> 16 & 1)) >> 16);
}
__host__ __device__ __forceinline__ void to_bf16(void* p, float x) { *(uint16_t*)p = bf16_bits(x); }
// e4m3: gfx942 has the form without infinities and with bias 8; gfx950 has the OCP form with bias 7.
__host__ __device__ __forceinline__ float from_fp8(const void* p) {
    int b = *(const byte*)p, e = b >> 3 & 15, m = b & 7;
    float x = e ? __builtin_ldexpf(8 + m, e - FP8_BIAS - 3) : __builtin_ldexpf(m, -FP8_BIAS - 2);
    return b & 128 ? -x : x;
}
__host__ __device__ __forceinline__ void to_fp8(void* p, float x) {
    float y = __builtin_fabsf(x);
    int e = (int)(__builtin_bit_cast(u32, y) >> 23) - 127;
    if (e < 1 - FP8_BIAS) e = 1 - FP8_BIAS;
    int m = (int)__builtin_rintf(__builtin_ldexpf(y, 3 - e)), bits = m + ((e + FP8_BIAS - 1) << 3);  // a carry goes into the exponent
    *(byte*)p = (byte)((bits > 126 ? 126 : bits) | (x < 0 && bits ? 128 : 0));
}
// e2m1
__host__ __device__ __forceinline__ float from_fp4(u32 nibble) {
    int e = nibble >> 1 & 3, m = nibble & 1;
    float x = e ? __builtin_ldexpf(2 + m, e - 2) : 0.5f * m;
    return nibble & 8 ? -x : x;
}

