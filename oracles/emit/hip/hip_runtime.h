// The part of HIP's header that emitted files and calibrate/probes/cdna.hip use, declared anew from its documentation, for a
// clang without HIP: enough to compile a kernel and to check the harness's syntax. It is not HIP's header, and nothing compiled
// with it can be run.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))

struct dim3 {
    uint32_t x, y, z;
    constexpr __host__ __device__ dim3(uint32_t x = 1, uint32_t y = 1, uint32_t z = 1) : x(x), y(y), z(z) {}
};

// ---- the device ----
struct ThreadIndex {
    __declspec(property(get = get)) uint32_t x;
    __device__ uint32_t get() const { return __builtin_amdgcn_workitem_id_x(); }
};
struct BlockIndex {
    __declspec(property(get = get)) uint32_t x;
    __device__ uint32_t get() const { return __builtin_amdgcn_workgroup_id_x(); }
};
struct BlockSize {
    __declspec(property(get = get)) uint32_t x;
    __device__ uint32_t get() const { return __builtin_amdgcn_workgroup_size_x(); }
};
struct GridSize {
    __declspec(property(get = get)) uint32_t x;
    __device__ uint32_t get() const { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); }
};
static const __device__ ThreadIndex threadIdx{};
static const __device__ BlockIndex blockIdx{};
static const __device__ BlockSize blockDim{};
static const __device__ GridSize gridDim{};

__device__ inline void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
__device__ inline void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ inline long long wall_clock64() { return (long long)__builtin_amdgcn_s_memrealtime(); }
__device__ inline unsigned long long atomicMax(unsigned long long* p, unsigned long long v) {
    return __hip_atomic_fetch_max(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__device__ inline float __uint_as_float(uint32_t x) { return __builtin_bit_cast(float, x); }
__device__ inline uint32_t __float_as_uint(float x) { return __builtin_bit_cast(uint32_t, x); }
__device__ inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }

// ---- the host ----
enum hipError_t { hipSuccess = 0, hipErrorNotReady = 600 };
enum hipMemcpyKind { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2, hipMemcpyDefault = 4 };
enum hipDeviceAttribute_t { hipDeviceAttributeComputeCapabilityMinor = 61, hipDeviceAttributeMultiprocessorCount = 63 };
enum hipFuncAttribute { hipFuncAttributeMaxDynamicSharedMemorySize = 8 };
struct hipFuncAttributes {
    int numRegs;
    size_t localSizeBytes;
};
typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;
#define hipHostMallocMapped 2
#define hipStreamNonBlocking 1
#define HIP_SYMBOL(x) (&(x))
extern "C" {
hipError_t hipMemset(void*, int, size_t);
hipError_t hipMemcpy(void*, const void*, size_t, hipMemcpyKind);
hipError_t hipMemcpyToSymbol(const void*, const void*, size_t, size_t = 0, hipMemcpyKind = hipMemcpyHostToDevice);
hipError_t hipDeviceGetAttribute(int*, hipDeviceAttribute_t, int);
hipError_t hipDeviceGetName(char*, int, int);
hipError_t hipDeviceSynchronize();
hipError_t hipStreamCreateWithFlags(hipStream_t*, unsigned);
hipError_t hipStreamQuery(hipStream_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipEventCreate(hipEvent_t*);
hipError_t hipEventRecord(hipEvent_t, hipStream_t);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventElapsedTime(float*, hipEvent_t, hipEvent_t);
hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int);
hipError_t hipFuncGetAttributes(hipFuncAttributes*, const void*);
hipError_t hipGetLastError();
const char* hipGetErrorString(hipError_t);
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t = 0, hipStream_t = nullptr);
hipError_t hipConfigureCall(dim3, dim3, size_t = 0, hipStream_t = nullptr);
hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t);
}
hipError_t hipMallocBytes(void**, size_t, unsigned);
template <class T>
hipError_t hipMalloc(T** p, size_t n) {
    return hipMallocBytes((void**)p, n, 0);
}
template <class T>
hipError_t hipHostMalloc(T** p, size_t n, unsigned flags) {
    return hipMallocBytes((void**)p, n, flags);
}
hipError_t hipHostAlloc(void**, size_t, unsigned);
