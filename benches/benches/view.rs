//! The viewer on a million operations at 200 x 60 cells: `cargo bench -p warpline-benches --bench view`. Opening must
//! take less than a second, and every frame less than 16 ms.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use warpline_benches::view::{buffer, frame, open, timeline};
use warpline_viz::tui::Command;

const SPANS: usize = 1_000_000;

/// A command and its argument.
type Step = (Command, Option<&'static str>);

fn view(c: &mut Criterion) {
    let t = timeline(SPANS);
    let mut group = c.benchmark_group("view");
    group.sample_size(10);
    group.bench_function("open", |b| b.iter_batched(|| t.clone(), |t| black_box(open(t)), BatchSize::PerIteration));
    let (runs, start) = open(t);
    let mut buffer = buffer();
    let steps: [(&str, &[Step]); 5] = [
        ("whole run", &[(Command::ZoomAll, None)]),
        (
            "zoom",
            &[(Command::ZoomIn, None), (Command::ZoomIn, None), (Command::ZoomOut, None), (Command::ZoomOut, None)],
        ),
        (
            "pan",
            &[(Command::ZoomIn, None), (Command::PanRight, None), (Command::PanLeft, None), (Command::ZoomOut, None)],
        ),
        ("edge on any row", &[(Command::NextEdgeAny, None), (Command::PrevEdgeAny, None)]),
        ("search step", &[(Command::SearchNext, None), (Command::SearchPrev, None)]),
    ];
    let mut found = start.clone();
    frame(&mut found, &runs, &mut buffer, Command::Search, Some("A[3, 7]"));
    for (name, commands) in steps {
        let mut state = if name.starts_with("search") { found.clone() } else { start.clone() };
        group.bench_function(name, |b| {
            let mut next = commands.iter().cycle();
            b.iter(|| {
                let (command, given) = next.next().unwrap();
                frame(&mut state, &runs, &mut buffer, *command, *given);
            });
        });
    }
    group.bench_function("search of all", |b| {
        let mut state = start.clone();
        b.iter(|| frame(&mut state, &runs, &mut buffer, Command::Search, Some("A[3, 7]")));
    });
    // A window with a few cells for each operation, in the middle of the run.
    group.bench_function("close up", |b| {
        let mut state = start.clone();
        frame(&mut state, &runs, &mut buffer, Command::Goto, Some("50000"));
        frame(&mut state, &runs, &mut buffer, Command::Window, Some("50000 50400"));
        let mut next = [Command::PanRight, Command::PanLeft].into_iter().cycle();
        b.iter(|| frame(&mut state, &runs, &mut buffer, next.next().unwrap(), None));
    });
    group.finish();
}

criterion_group!(benches, view);
criterion_main!(benches);
