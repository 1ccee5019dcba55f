//! Events a second of the engine, and of queues with the same mix.
#![allow(missing_docs)] // what criterion's macros make

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warpline_benches::{SCENARIOS, Work, on_binary_heap, on_nexosim, on_own_queue};

fn events(c: &mut Criterion) {
    for (name, set) in SCENARIOS {
        let work = Work::new(name, set);
        let mix = work.mix();
        let mut group = c.benchmark_group(*name);
        group.sample_size(10).throughput(Throughput::Elements(work.run().events));
        group.bench_function("engine", |b| b.iter(|| black_box(work.run())));
        group.bench_function("own queue", |b| b.iter(|| black_box(on_own_queue(&mix))));
        group.bench_function("BinaryHeap", |b| b.iter(|| black_box(on_binary_heap(&mix))));
        group.bench_function("nexosim", |b| b.iter(|| black_box(on_nexosim(&mix))));
        group.finish();
    }
}

criterion_group!(benches, events);
criterion_main!(benches);
