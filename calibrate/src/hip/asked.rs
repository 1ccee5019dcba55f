//! Attributes of a HIP device, and two kernels that are launched through its runtime.

use std::ffi::CStr;

/// Two kernels: one does nothing, and one multiplies and adds for a while and measures the time, by the core's clock
/// (`s_memtime`) and by the constant clock (`s_memrealtime`).
pub(super) const KERNELS: &CStr = cr#"
extern "C" __global__ void nothing() {}
extern "C" __global__ void spin(unsigned long long* out, unsigned turns) {
    float a = threadIdx.x, b = a, c = a;
    unsigned long long cycles = __builtin_amdgcn_s_memtime(), ticks = __builtin_amdgcn_s_memrealtime();
    for (unsigned i = 0; i < turns; i++) {
        a = __builtin_fmaf(a, .5f, .5f), b = __builtin_fmaf(b, .5f, .5f), c = __builtin_fmaf(c, .5f, .5f);
        asm volatile("" : "+v"(a), "+v"(b), "+v"(c));
    }
    cycles = __builtin_amdgcn_s_memtime() - cycles, ticks = __builtin_amdgcn_s_memrealtime() - ticks;
    if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = cycles, out[1] = ticks;
}
"#;

/// Values of `hipDeviceAttribute_t` in `hip/hip_runtime_api.h`, the same from ROCm 5.2 to 6.2.
pub(super) mod attribute {
    pub(in crate::hip) const MAJOR: i32 = 23;
    pub(in crate::hip) const THREADS_PER_CTA: i32 = 56;
    pub(in crate::hip) const MINOR: i32 = 61;
    pub(in crate::hip) const CORES: i32 = 63;
    pub(in crate::hip) const SHARED_PER_CTA: i32 = 74;
    pub(in crate::hip) const WARP: i32 = 87;
    pub(in crate::hip) const SHARED_PER_CORE: i32 = 10_002;
    /// Available from ROCm 5.7 on.
    pub(in crate::hip) const WALL_CLOCK_KHZ: i32 = 10_017;
}

/// Attributes of a device: probe, unit, attribute.
pub(super) const SAID: [(&str, &str, i32); 5] = [
    ("device.cores", "cores", attribute::CORES),
    ("device.shared_per_core", "bytes", attribute::SHARED_PER_CORE),
    ("device.shared_per_cta", "bytes", attribute::SHARED_PER_CTA),
    ("device.threads_per_cta", "threads", attribute::THREADS_PER_CTA),
    ("device.warp", "threads", attribute::WARP),
];
