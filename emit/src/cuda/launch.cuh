// ---- how a CUDA kernel is launched, and what else its harness needs ------------------------------------------------

#define GPU(name) cuda##name
#define WL_CHECK(x)                                                                                             \
    do {                                                                                                        \
        cudaError_t e_ = (x);                                                                                   \
        if (e_ != cudaSuccess) {                                                                                \
            printf("{\"kernel\":\"%s\",\"outcome\":\"setup\",\"error\":\"%s: %s\"}\n", KERNEL, #x, cudaGetErrorString(e_)); \
            exit(2);                                                                                            \
        }                                                                                                       \
    } while (0)

namespace wl {

// Ends a run that hangs at an operation whose wait has no deadline of its own.
__global__ void watchdog(Report* r, const u32* where, int n, u64 deadline) {
    u64 t = nanoseconds();
    while (!*(volatile u32*)&r->done) {
        if (nanoseconds() - t > deadline) {
            for (int i = 0; i < n && i < 4096; i++) *(volatile u32*)&r->where[i] = ((volatile const u32*)where)[i];
            *(volatile u32*)&r->watchdog = 1;
            __threadfence_system();
            asm volatile("trap;");
        }
        __nanosleep(2000);
    }
}

#if MAPS > 0
static CUtensorMap tensor_map(const Matrix& m, void* base, const Box& b) {
    typedef CUresult (*Encode)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                               const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                               CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
    static Encode encode = nullptr;
    if (!encode) {
        void* f = nullptr;
        cudaDriverEntryPointQueryResult q;
        WL_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &q));
        encode = (Encode)f;
    }
    CUtensorMapDataType type = m.type == F32 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : m.type == TF32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
        : m.type == F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : m.type == BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
        : m.type == I32 ? CU_TENSOR_MAP_DATA_TYPE_INT32 : CU_TENSOR_MAP_DATA_TYPE_UINT8;
    CUtensorMapSwizzle swizzle = b.swizzle == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : b.swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
        : b.swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B : CU_TENSOR_MAP_SWIZZLE_NONE;
    cuuint64_t dims[2] = {(cuuint64_t)m.pitch, (cuuint64_t)m.pitch_rows}, strides[1] = {(cuuint64_t)m.pitch * m.bits / 8};
    cuuint32_t box[2] = {(cuuint32_t)b.cols, (cuuint32_t)b.rows}, steps[2] = {1, 1};
    CUtensorMap map;
    CUresult r = encode(&map, type, 2, base, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (r != CUDA_SUCCESS) {
        printf("{\"kernel\":\"%s\",\"outcome\":\"setup\",\"error\":\"cuTensorMapEncodeTiled: %d\"}\n", KERNEL, (int)r);
        exit(2);
    }
    return map;
}
#endif

// Tensor maps (boxes) for TMA.
static Maps maps_of(const Globals& g) {
    Maps maps{};
#if MAPS > 0
    for (int i = 0; i < MAPS; i++) maps.m[i] = tensor_map(matrices[boxes[i].matrix], g.m[boxes[i].matrix], boxes[i]);
#endif
    (void)g;
    return maps;
}
#ifdef WL_EMULATED
constexpr int MORE_BYTES = WARPS * 8;  // one barrier per warp
// Resets the emulation before each launch: tensor memory is NaN and no tile is handed out. Returns the number of CTAs
// to start.
static int emulate(cudaStream_t stream) {
    static void *words, *taken, *handed;
    if (!words) {
        WL_CHECK(cudaMalloc(&words, sizeof(Tensor) * CTAS));
        WL_CHECK(cudaMemcpyToSymbol(tensor_memory, &words, sizeof(words)));
        WL_CHECK(cudaGetSymbolAddress(&taken, tensor_taken));
        WL_CHECK(cudaGetSymbolAddress(&handed, handed_out));
    }
    WL_CHECK(cudaMemsetAsync(words, 0xff, sizeof(Tensor) * CTAS, stream));
    WL_CHECK(cudaMemsetAsync(taken, 0, 4 * CTAS, stream));
    WL_CHECK(cudaMemsetAsync(handed, 0, 4, stream));
    return HANDED_OUT ? std::min(CTAS, 4 * CLUSTER) : CTAS;
}
#else
constexpr int MORE_BYTES = 0;
static int emulate(cudaStream_t) { return CTAS; }
#endif
static void allow(int bytes) {
    WL_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes + MORE_BYTES));
    if (CLUSTER > 8) WL_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
}
static cudaError_t start(const Maps& maps, const Globals& g, const Common& common, cudaStream_t stream) {
    cudaLaunchConfig_t config{};
    config.gridDim = emulate(stream), config.blockDim = WARPS * LANES, config.dynamicSmemBytes = POOL_BYTES + MORE_BYTES;
    config.stream = stream;
    cudaLaunchAttribute a[1];
    a[0].id = cudaLaunchAttributeClusterDimension;
    a[0].val.clusterDim = {CLUSTER, 1, 1};
    config.attrs = a, config.numAttrs = CLUSTER > 1;
    return cudaLaunchKernelEx(&config, kernel, maps, g, common);
}
#ifdef WL_NOTES
// Runs the reference, pass by pass. A pass tells how many notes it needed; where they had no room, it runs again with
// more.
static void refer(const Globals& g, Common& common) {
    std::vector<u32> n(CTAS);
    WL_CHECK(cudaMalloc(&common.noted, CTAS * 4));
    for (common.room = 256, common.pass = 0; common.pass < PASSES; common.pass++) {
        if (common.pass == 0) {
            WL_CHECK(cudaMalloc(&common.notes, (size_t)CTAS * common.room * sizeof(Note)));
            WL_CHECK(cudaMemset(common.noted, 0, CTAS * 4));
        }
        reference<<<CTAS, WARPS * LANES>>>(g, common);
        WL_CHECK(cudaMemcpy(n.data(), common.noted, CTAS * 4, cudaMemcpyDeviceToHost));
        u32 most = *std::max_element(n.begin(), n.end());
        if (most <= common.room) continue;
        WL_CHECK(cudaFree(common.notes));
        common.room = most * 2, common.pass = ~0u;
    }
}
#else
static void refer(const Globals& g, const Common& common) { reference<<<CTAS, WARPS * LANES>>>(g, common); }
#endif
// Where each warp is, in the device's memory: the watchdog copies it out.
static cudaError_t places_for(u32** p, size_t bytes) { return cudaMalloc(p, bytes); }
static void places(Report*, const Common&) {}
[[maybe_unused]] static void watch(Report* report, const Common& common, cudaStream_t other) {
    watchdog<<<1, 1, 0, other>>>(report, common.where, CTAS * WARPS, common.deadline_ns * 3ull);
}

}  // namespace wl

