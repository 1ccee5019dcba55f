//! Traces read back: ours whole, Proton's and others' as far as they say something.

use proptest::prelude::*;
use warpline_sim::timeline::{RowKind, SourceLine, Stall, TICKS, Timeline, What, Work};
use warpline_viz::trace::chrome::write;
use warpline_viz::trace::read::read;
use warpline_viz::tui::{Model, Runs};

use super::{random, synth};

/// A timeline with what a trace does not say taken away, and statements by their texts.
fn plain(mut t: Timeline) -> (Timeline, Vec<Option<SourceLine>>) {
    let text = |site: Option<u32>| site.and_then(|s| t.sites.get(s as usize).cloned());
    let mut sites: Vec<_> = t.spans.iter().map(|s| text(s.site)).collect();
    t.faults.retain(|f| (f.site as usize) < t.sites.len());
    sites.extend(t.faults.iter().map(|f| text(Some(f.site))));
    for s in &mut t.spans {
        s.site = None;
    }
    t.faults.iter_mut().for_each(|f| f.site = 0);
    (t.sites, t.moves) = (Vec::new(), Vec::new());
    (t, sites)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn our_own_come_back(mut t in random::timeline()) {
        // Beyond 2^53 ticks and in a clock of no number, JSON is not exact; wakers that are not there are not told.
        prop_assume!(t.end < 1 << 40 && t.mhz.is_finite() && t.mhz != 1e-9);
        let n = t.spans.len() as u32;
        for s in &mut t.spans {
            s.woken_by = s.woken_by.filter(|w| *w < n);
        }
        t.faults.retain(|f| (f.site as usize) < t.sites.len());
        for row in &mut t.rows {
            // The name is the row's; a slot or barrier of another name would lose it.
            if let RowKind::Engine(_) = row.kind && row.name.is_empty() { row.name = "engine".into(); }
        }
        let back = read(write(&t).unwrap().as_bytes()).unwrap();
        prop_assert_eq!(back.left_out, 0);
        prop_assert_eq!(plain(back.timeline), plain(t));
    }
}

#[test]
fn a_pipeline_comes_back() {
    let t = synth::pipeline(2, 8);
    let back = read(write(&t).unwrap().as_bytes()).unwrap();
    assert_eq!(plain(back.timeline), plain(t));
}

/// What Proton writes of two warps in kernels (TraceWriter.cpp), cut short: times are cycles / 1000.
const PROTON: &str = r#"{"displayTimeUnit": "ns", "traceEvents": [
  {"name": "tma_load", "pid": "matmul Core0 CTA0", "tid": "warp 0 (line 0)", "cat": "triton", "ph": "X", "ts": 1.0, "dur": 0.2,
   "cname": "good", "args": {"Finalization Time (ns)": 9, "Frequency (MHz)": 1755}},
  {"name": "wait full", "pid": "matmul Core0 CTA0", "tid": "warp 4 (line 0)", "cat": "triton", "ph": "X", "ts": 1.0, "dur": 0.4,
   "args": {"Frequency (MHz)": 1755}},
  {"name": "wgmma", "pid": "matmul Core0 CTA0", "tid": "warp 4 (line 1)", "cat": "triton", "ph": "X", "ts": 1.4, "dur": 0.128,
   "args": {"Frequency (MHz)": 1755}},
  {"name": "loop", "pid": "matmul Core0 CTA1", "tid": "warp 4 (line 0)", "cat": "triton", "ph": "X", "ts": 1.1, "dur": 0.5,
   "args": {"Frequency (MHz)": 1755}}
]}"#;

#[test]
fn a_proton_trace_has_warps_cycles_and_a_clock() {
    let read = read(PROTON.as_bytes()).unwrap();
    let t = read.timeline;
    assert_eq!((t.mhz, t.title.as_str(), read.left_out), (1755.0, "matmul", 0));
    let rows: Vec<_> = t.rows.iter().map(|r| (r.cta, r.name.as_str())).collect();
    assert_eq!(rows, [(0, "warp 0"), (0, "warp 4"), (1, "warp 4")]);
    let spans: Vec<_> = t.spans.iter().map(|s| (s.row, s.start / TICKS, s.end / TICKS, s.what)).collect();
    let (load, mma, control) = (What::Work(Work::Load), What::Work(Work::Mma), What::Work(Work::Control));
    let wait = What::Stall(Stall::Mbarrier);
    assert_eq!(spans, [(0, 0, 200, load), (1, 0, 400, wait), (2, 100, 600, control), (1, 400, 528, mma)]);
    assert_eq!(t.end, 600 * TICKS);
    // Beside a simulated run its warps are the same warps.
    let simulated = synth::pipeline(1, 4);
    let runs = Runs::new(Model::new(simulated).unwrap(), Some(Model::new(t).unwrap()));
    assert!(runs.shared_rows() >= 2, "w0 and w4 are in both");
}

#[test]
fn pairs_flows_and_threads_of_another_program() {
    let text = r#"[
      {"ph": "M", "name": "thread_name", "pid": 7, "tid": 3, "args": {"name": "stream 3"}},
      {"ph": "B", "name": "copy", "pid": 7, "tid": 3, "ts": 10},
      {"ph": "E", "pid": 7, "tid": 3, "ts": 12},
      {"ph": "X", "name": "gemm", "pid": 7, "tid": 4, "ts": 12, "dur": 3},
      {"ph": "s", "id": 5, "cat": "c", "pid": 7, "tid": 3, "ts": 11},
      {"ph": "f", "id": 5, "cat": "c", "pid": 7, "tid": 4, "ts": 12.5},
      {"ph": "B", "name": "never ends", "pid": 7, "tid": 3, "ts": 20},
      {"ph": "b", "name": "async", "pid": 7, "tid": 3, "ts": 20}
    ]"#;
    let r = read(text.as_bytes()).unwrap();
    let spans: Vec<_> =
        r.timeline.spans.iter().map(|s| (s.label.as_str(), s.start / TICKS, s.end / TICKS, s.woken_by)).collect();
    assert_eq!(spans, [("copy", 0, 2000, None), ("gemm", 2000, 5000, Some(0))]);
    assert_eq!((r.timeline.rows[0].name.as_str(), r.timeline.mhz, r.left_out), ("stream 3", 1000.0, 2));
}

#[test]
fn what_is_no_trace_is_named() {
    let why = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    assert!(why("{").contains("no trace in Chrome's format"));
    assert!(why(r#"{"schema": "warpline.schedule/1"}"#).contains("no trace in Chrome's format"));
    assert!(why("[]").contains("no slices"));
    assert_eq!(why(r#"[{"ph": "X", "ts": 1}]"#), "event 1 is no slice: it has no `dur`");
    assert_eq!(why(r#"[{"ph": "X", "ts": -1, "dur": 2}]"#), "event 1 is no slice: its times are no times");
}
