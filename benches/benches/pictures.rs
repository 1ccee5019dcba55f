//! Pictures and traces of 100,000 operations: `cargo bench -p warpline-benches --bench pictures`. A chart must take
//! less than a second.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use warpline_benches::view::timeline;
use warpline_viz::gantt::{GanttOptions, png, svg};
use warpline_viz::trace::{Format, read, write};

const SPANS: usize = 100_000;

fn pictures(c: &mut Criterion) {
    let t = timeline(SPANS);
    let options = GanttOptions::default();
    let one = GanttOptions { ctas: Some(1), to: Some(2_000), ..GanttOptions::default() };
    let mut group = c.benchmark_group("pictures");
    group.sample_size(10);
    group.bench_function("svg, whole run", |b| b.iter(|| black_box(svg(&t, &options).unwrap())));
    group.bench_function("png, whole run", |b| b.iter(|| black_box(png(&t, &options).unwrap())));
    group.bench_function("svg, opening of one CTA", |b| b.iter(|| black_box(svg(&t, &one).unwrap())));
    for (name, format) in [("perfetto", Format::Perfetto), ("chrome", Format::Chrome), ("kanata", Format::Kanata)] {
        group.bench_function(format!("{name} written"), |b| b.iter(|| black_box(write(&t, format).unwrap())));
    }
    let json = write(&t, Format::Chrome).unwrap();
    group.bench_function("chrome read", |b| b.iter(|| black_box(read::read(&json).unwrap())));
    group.finish();
}

criterion_group!(benches, pictures);
criterion_main!(benches);
