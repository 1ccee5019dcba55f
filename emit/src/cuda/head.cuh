// The operations of a warpline kernel in CUDA C++: one small function each, named as in the PTX ISA. Every wait has a
// deadline. A thread that waits longer reports what it waits for and faults, so that a hang never holds the device.

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <string>
#include <vector>

namespace wl {

typedef uint32_t u32;
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned char byte;
typedef uint4 word4;  // a chunk of 16 bytes

// ---- clocks and elements ------------------------------------------------------------------------------------------

__device__ __forceinline__ u64 nanoseconds() {
    u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}
__device__ __forceinline__ u32 clock32() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}
__device__ __forceinline__ u64 ticks() { return clock64(); }
// e2m1 as f16: exponent and mantissa go into the lowest bits of f16's; the factor 2^14 corrects the bias.
__device__ __forceinline__ __half half_of_fp4(u32 nibble) {
    return __hmul(__ushort_as_half((unsigned short)((nibble & 8) << 12 | (nibble & 7) << 9)), __float2half(16384.f));
}
__host__ __device__ __forceinline__ float from_f16(const void* p) { return __half2float(*(const __half*)p); }
__host__ __device__ __forceinline__ float from_bf16(const void* p) { return __bfloat162float(*(const __nv_bfloat16*)p); }
__host__ __device__ __forceinline__ float from_fp8(const void* p) { return float(*(const __nv_fp8_e4m3*)p); }
__device__ __forceinline__ float from_fp4(u32 nibble) { return __half2float(half_of_fp4(nibble)); }
__device__ __forceinline__ void to_f16(void* p, float x) { *(__half*)p = __float2half(x); }
__device__ __forceinline__ void to_bf16(void* p, float x) { *(__nv_bfloat16*)p = __float2bfloat16(x); }
__device__ __forceinline__ void to_fp8(void* p, float x) { *(__nv_fp8_e4m3*)p = __nv_fp8_e4m3(x); }

