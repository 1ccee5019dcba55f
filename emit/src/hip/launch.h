// ---- how a HIP kernel is launched, and what else its harness needs -------------------------------------------------

#define GPU(name) hip##name
#ifndef hipHostAllocMapped  // HIP's header has it under its older name only
#define hipHostAllocMapped hipHostMallocMapped
#endif
#define WL_CHECK(x)                                                                                             \
    do {                                                                                                        \
        hipError_t e_ = (x);                                                                                    \
        if (e_ != hipSuccess) {                                                                                 \
            printf("{\"kernel\":\"%s\",\"outcome\":\"setup\",\"error\":\"%s: %s\"}\n", KERNEL, #x, hipGetErrorString(e_)); \
            exit(2);                                                                                            \
        }                                                                                                       \
    } while (0)

struct Maps {};

namespace wl {

static Maps maps_of(const Globals&) { return Maps{}; }
static void allow(int bytes) {
    WL_CHECK(hipFuncSetAttribute((const void*)kernel, hipFuncAttributeMaxDynamicSharedMemorySize, bytes));
}
static hipError_t start(const Maps&, const Globals& g, const Common& common, hipStream_t stream) {
    kernel<<<dim3(CTAS), dim3(WARPS * LANES), POOL_BYTES, stream>>>(g, common);
    return hipGetLastError();
}
static void refer(const Globals& g, const Common& common) { reference<<<CTAS, WARPS * LANES>>>(g, common); }
// Where each wave is, in the host's memory: it outlives a kernel that never ends.
static hipError_t places_for(u32** p, size_t bytes) { return hipHostMalloc((void**)p, bytes, hipHostMallocMapped); }
static void places(Report* report, const Common& common) {
#ifdef WL_WATCH
    for (int i = 0; i < std::min(CTAS * WARPS, 4096); i++) report->where[i] = ((volatile u32*)common.where)[i];
    report->watchdog = 1;
#else
    (void)report, (void)common;
#endif
}
[[maybe_unused]] static void watch(Report*, const Common&, hipStream_t) {}

}  // namespace wl

