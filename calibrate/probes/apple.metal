// Latencies and rates of an Apple GPU's core and of what lies behind it.
// Its authors have no Apple machine: nothing of this was ever run by them, and Apple's compiler has not seen it.
//
// MSL has no clock. Each kernel is a loop of `turns` turns, and what a turn takes is the difference between the times of two
// launches of different length (calibrate/src/metal/probes.rs has how much a turn does).
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// `out` takes what nobody else wants, `data` is filled by the host, `words` are 16 KB of threadgroup memory.
#define PROBE(NAME)                                                                                                       \
    kernel void NAME(device uint* out [[buffer(0)]], device const uint4* data [[buffer(1)]],                              \
                     constant uint& turns [[buffer(2)]], threadgroup uint* words [[threadgroup(0)]],                      \
                     uint thread_ [[thread_index_in_threadgroup]], uint threads [[threads_per_threadgroup]],              \
                     uint group [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]])

PROBE(nothing) { (void)out, (void)data, (void)turns, (void)words, (void)thread_, (void)threads, (void)group, (void)groups; }

// ---- barriers -------------------------------------------------------------------------------------------------------

PROBE(barriers) {  // 16 a turn
    for (uint i = 0; i < turns; i++) {
#pragma unroll
        for (int j = 0; j < 16; j++) threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (thread_ == 0) out[group] = turns;
    (void)data, (void)words, (void)threads, (void)groups;
}

// ---- threadgroup memory ---------------------------------------------------------------------------------------------

// Each lane goes round and round at its own word, which holds its own index; 16 hops a turn.
PROBE(threadgroup_chase) {
    words[thread_] = thread_;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint at = thread_;
    for (uint i = 0; i < turns; i++) {
#pragma unroll
        for (int j = 0; j < 16; j++) at = words[at];
    }
    out[thread_] = at;
    (void)data, (void)threads, (void)group, (void)groups;
}
// 16 reads of 16 bytes a lane and turn; neighboring lanes read neighboring places.
PROBE(threadgroup_read) {
    threadgroup uint4* wide = (threadgroup uint4*)words;
    for (uint i = thread_; i < 1024; i += threads) wide[i] = data[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint4 sum = data[0];
    for (uint i = 0; i < turns; i++) {
#pragma unroll
        for (uint j = 0; j < 16; j++) sum ^= wide[(thread_ + i + 32 * j) & 1023];
    }
    out[thread_] = sum.x ^ sum.y ^ sum.z ^ sum.w;
    (void)group, (void)groups;
}

// ---- device memory --------------------------------------------------------------------------------------------------

// A chain of loads: the word at each line of 128 bytes is the index of the next line's. 16 hops a turn; a launch goes on where
// the one before ended.
PROBE(device_chase) {
    device const uint* next = (device const uint*)data;
    uint at = out[0];
    for (uint i = 0; i < turns; i++) {
#pragma unroll
        for (int j = 0; j < 16; j++) at = next[at];
    }
    if (thread_ == 0) out[0] = at;
    (void)words, (void)threads, (void)group, (void)groups;
}
// All threads together read 16 bytes each a turn, from one end of `data` to the other.
PROBE(device_read) {
    const uint all = threads * groups;
    uint4 sum = data[0];
    for (uint i = 0; i < turns; i += 4) {
#pragma unroll
        for (uint j = 0; j < 4; j++) sum ^= data[(i + j) * all + group * threads + thread_];
    }
    out[thread_] = sum.x ^ sum.y ^ sum.z ^ sum.w;
    (void)words;
}

// ---- products -------------------------------------------------------------------------------------------------------

// 16 products of 8 x 8 a turn and simdgroup, in CHAINS sums that take turns.
template <int CHAINS>
inline void products(device uint* out, device const uint4* data, uint turns, threadgroup uint* words, uint thread_) {
    threadgroup half* blocks = (threadgroup half*)words;
    if (thread_ < 32) ((threadgroup uint4*)words)[thread_] = data[thread_];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_matrix<half, 8, 8> a, b;
    simdgroup_matrix<float, 8, 8> sum[CHAINS];
    simdgroup_load(a, blocks, 8);
    simdgroup_load(b, blocks + 64, 8);
    for (int c = 0; c < CHAINS; c++) simdgroup_load(sum[c], (threadgroup float*)words, 8);
    for (uint i = 0; i < turns; i++) {
#pragma unroll
        for (int j = 0; j < 16; j++) simdgroup_multiply_accumulate(sum[j % CHAINS], a, b, sum[j % CHAINS]);
    }
    float all = 0;
    for (int c = 0; c < CHAINS; c++) all += sum[c].thread_elements()[0];
    out[thread_] = as_type<uint>(all);
}
PROBE(product_chain) { products<1>(out, data, turns, words, thread_), (void)threads, (void)group, (void)groups; }
PROBE(product_rate) { products<4>(out, data, turns, words, thread_), (void)threads, (void)group, (void)groups; }

// ---- the vector unit ------------------------------------------------------------------------------------------------

PROBE(fma_rate) {  // 64 a lane and turn
    float v[8];
    for (int c = 0; c < 8; c++) v[c] = (float)(data[c].x + thread_);
    for (uint i = 0; i < turns; i++) {
#pragma unroll
        for (int j = 0; j < 64; j++) v[j % 8] = fma(v[j % 8], 0.5f, 0.5f);
    }
    float all = 0;
    for (int c = 0; c < 8; c++) all += v[c];
    out[thread_] = as_type<uint>(all);
    (void)words, (void)threads, (void)group, (void)groups;
}
PROBE(exp_rate) {  // 64 a lane and turn
    float v[8];
    for (int c = 0; c < 8; c++) v[c] = (float)(data[c].x + thread_);
    for (uint i = 0; i < turns; i++) {
#pragma unroll
        for (int j = 0; j < 64; j++) v[j % 8] = exp2(-v[j % 8]);
    }
    float all = 0;
    for (int c = 0; c < 8; c++) all += v[c];
    out[thread_] = as_type<uint>(all);
    (void)words, (void)threads, (void)group, (void)groups;
}
