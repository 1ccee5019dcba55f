//! Traces read back: ours whole, Proton's and others' as far as they say something.

use std::collections::BTreeSet;

use proptest::prelude::*;
use warpline_sim::timeline::{Mark, RowKind, SourceLine, Span, SpanKind, Stall, TICKS, Timeline, Work};
use warpline_viz::trace::chrome::write;
use warpline_viz::trace::read::read;
use warpline_viz::tui::{Model, Runs};

use crate::{random, synth};

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

/// Lines of every sort: slices, flows, counters, names and a fault.
fn with_fault() -> Timeline {
    let mut t = synth::pipeline(2, 4);
    t.faults.push(Mark { tick: 3 * TICKS, label: "RAW race".into(), site: 0 });
    t
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
        let text = write(&t).unwrap();
        let back = read(text.as_bytes()).unwrap();
        prop_assert_eq!(back.left_out, 0);
        // Without its lines it is read as a file of anybody's is.
        let whole = read(text.replace('\n', " ").as_bytes()).unwrap();
        prop_assert_eq!(&whole.timeline, &back.timeline);
        prop_assert_eq!(whole.left_out, 0);
        prop_assert_eq!(plain(back.timeline), plain(t));
    }

    /// Lines that somebody changed are read as they would be if they were no lines, or refused.
    #[test]
    fn a_changed_line_is_read_as_any_file_is(
        line in 1..400usize,
        cut in prop_oneof![0..200usize, Just(usize::MAX)],
        without in 0..2usize,
        put in "[a-z\"\\\\{}0-9,]{0,3}",
    ) {
        let text = write(&with_fault()).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        let n = line % lines.len();
        // The comma at its end, too.
        let at = if cut == usize::MAX { lines[n].len().saturating_sub(1) } else { cut % (lines[n].len() + 1) };
        let to = (at + without).min(lines[n].len());
        prop_assume!(lines[n].is_char_boundary(at) && lines[n].is_char_boundary(to));
        lines[n].replace_range(at..to, &put);
        let [apart, whole] = both_ways(&lines);
        prop_assert!(apart == whole, "{} {}", apart.is_ok(), whole.is_ok());
    }
}

/// What is read of a file by its lines, and of the same without lines. What is wrong with it is said with its line and
/// column, which are others.
fn both_ways(lines: &[String]) -> [Result<(Timeline, usize), ()>; 2] {
    let words = |text: String| read(text.as_bytes()).map(|r| (r.timeline, r.left_out)).map_err(|_| ());
    [words(lines.join("\n")), words(lines.join(" "))]
}

#[test]
fn a_field_that_is_given_twice_is_refused_however_it_is_read() {
    let text = write(&with_fault()).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_string).collect();
    let mut tried = BTreeSet::new();
    for (n, line) in lines.iter().enumerate() {
        let Ok(event) = serde_json::from_str::<serde_json::Value>(line.trim_end_matches(',')) else { continue };
        let (ph, name) = (event["ph"].as_str().unwrap(), event["name"].as_str().unwrap());
        let keys = |of: &serde_json::Value| -> Vec<String> {
            // What no reader asks for may be there as often as it likes.
            let others = ["s", "bp", "args", "sort_index", "value"];
            let all = of.as_object().into_iter().flatten().map(|(key, _)| key.clone());
            all.filter(|key| !others.contains(&key.as_str())).collect()
        };
        let body = line.trim_end_matches(',').strip_suffix('}').unwrap();
        let comma = if line.ends_with(',') { "," } else { "" };
        let own = keys(&event).into_iter().map(|key| (key.clone(), format!("{body},\"{key}\":1}}{comma}")));
        let args = keys(&event["args"]).into_iter().map(|key| {
            let key = format!("args.{key}");
            let twice = line.replacen(r#""args":{"#, &format!(r#""args":{{"{}":1,"#, &key[5..]), 1);
            (key, twice)
        });
        for (key, twice) in own.chain(args) {
            let meta = if ph == "M" { name } else { "" };
            // One of each sort is enough.
            if tried.insert((ph.to_string(), meta.to_string(), key.clone())) {
                let mut lines = lines.clone();
                lines[n] = twice;
                assert_eq!(both_ways(&lines), [Err(()), Err(())], "{key} in {line}");
            }
        }
    }
    for ph in ["X", "s", "f", "C", "M", "i"] {
        assert!(tried.iter().any(|t| t.0 == ph), "{ph}");
    }
}

#[test]
fn what_stands_on_the_first_line_is_read_however_the_rest_is() {
    let text = write(&synth::pipeline(1, 4)).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_string).collect();
    let (head, last) = (&lines[0], "]}".to_string());
    let slice = lines.iter().find(|line| line.starts_with(r#"{"ph":"X""#)).unwrap().trim_end_matches(',');
    // An event of its own, and the only one; a list that is none of events; another before the one of events.
    let first = vec![format!("{head}{slice}"), last.clone()];
    let other = [&[head.replace("traceEvents\":[", "traceEvents\":[],\"x\":[")], &lines[1..]].concat();
    let twice =
        [&[head.replace("traceEvents\":[", &format!("traceEvents\":[{slice}],\"traceEvents\":["))], &lines[1..]]
            .concat();
    for lines in [first, other, twice] {
        let [apart, whole] = both_ways(&lines);
        assert_eq!(apart, whole, "{}", lines[0]);
    }
}

#[test]
fn a_pipeline_comes_back() {
    let t = synth::pipeline(2, 8);
    let back = read(write(&t).unwrap().as_bytes()).unwrap();
    assert_eq!(plain(back.timeline), plain(t));
}

/// As files of earlier versions have it, and as a slice has it whose name does not tell what it is.
#[test]
fn the_class_and_the_label_may_be_among_the_arguments() {
    let t = synth::pipeline(2, 8);
    let mut spans = t.spans.iter();
    let lines = write(&t).unwrap();
    let said = lines.lines().map(|line| match line.strip_prefix(r#"{"ph":"X""#) {
        Some(rest) => {
            let s = spans.next().unwrap();
            let (_, rest) = rest.split_once(r#","cat":"#).unwrap();
            let kind = warpline_sim::words::what(s.what);
            let args = format!(r#""args":{{"kind":"{kind}","label":"{}","#, s.label);
            format!(r#"{{"ph":"X","name":"x","cat":{}"#, rest.replace(r#""args":{"#, &args))
        }
        None => line.to_string(),
    });
    let said: Vec<String> = said.collect();
    assert!(said.iter().any(|line| line.contains(r#""kind":"mbarrier","label":"full[0]""#)), "{said:#?}");
    for text in [said.join("\n"), said.join(" ")] {
        assert_eq!(plain(read(text.as_bytes()).unwrap().timeline), plain(t.clone()));
    }
    // A file says it where it must.
    let mut t = synth::pipeline(1, 4);
    t.spans[0] =
        Span { label: "filling A".into(), ..Span::new(t.spans[0].row, (0, 1), SpanKind::Hold { filling: false }) };
    let text = write(&t).unwrap();
    assert_eq!(text.matches(r#""kind":"hold","label":"filling A""#).count(), 1);
    assert_eq!(read(text.as_bytes()).unwrap().timeline.spans[0].label, "filling A");
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
    let (load, mma, control) = (SpanKind::Work(Work::Load), SpanKind::Work(Work::Mma), SpanKind::Work(Work::Control));
    let wait = SpanKind::Stall(Stall::Mbarrier);
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
fn a_flow_leads_from_the_innermost_slice_to_the_innermost_and_on_from_each_step() {
    // On thread 1 `inner` is in `outer`; `a` ends where `b` begins; `long` is open beside what comes after it.
    let slice = |name: &str, tid: u32, ts: u32, dur: u32| {
        format!(r#"{{"ph":"X","name":"{name}","pid":1,"tid":{tid},"ts":{ts},"dur":{dur}}}"#)
    };
    let flow =
        |ph: &str, tid: u32, ts: u32| format!(r#"{{"ph":"{ph}","id":1,"cat":"c","pid":1,"tid":{tid},"ts":{ts}}}"#);
    let woken = |flows: &[String]| -> Vec<(String, Option<String>)> {
        let slices = [
            slice("outer", 1, 0, 100),
            slice("inner", 1, 20, 10),
            slice("a", 2, 40, 10),
            slice("b", 2, 50, 30),
            slice("long", 3, 0, 200),
            slice("late", 3, 90, 300),
        ];
        let text = format!("[{}]", [&slices[..], flows].concat().join(","));
        let t = read(text.as_bytes()).unwrap().timeline;
        let name = |i: u32| t.spans[i as usize].label.to_string();
        let woken = t.spans.iter().filter(|s| s.woken_by.is_some());
        let mut woken: Vec<_> = woken.map(|s| (s.label.to_string(), s.woken_by.map(name))).collect();
        woken.sort();
        woken
    };
    let of = |to: &str, by: &str| (to.to_string(), Some(by.to_string()));
    assert_eq!(woken(&[flow("s", 1, 25), flow("f", 2, 45)]), [of("a", "inner")]);
    assert_eq!(woken(&[flow("s", 1, 35), flow("f", 2, 50)]), [of("a", "outer")], "the shorter of two that touch");
    assert_eq!(woken(&[flow("s", 1, 25), flow("t", 2, 60), flow("f", 3, 95)]), [of("b", "inner"), of("long", "b")]);
    assert_eq!(woken(&[flow("s", 3, 250), flow("f", 1, 99)]), [of("outer", "late")]);
    assert_eq!(woken(&[flow("f", 2, 45)]), [], "it has no beginning");
    assert_eq!(woken(&[flow("s", 2, 10), flow("f", 2, 45)]), [], "nothing was open there");
}

#[test]
fn values_of_any_kind_and_numbers_as_texts_are_no_reason_to_refuse_a_trace() {
    let text = r#"{"metadata": {"a": [1, {"b": null}]}, "traceEvents": [
      {"ph": "X", "name": "gemm", "pid": "7", "tid": 4, "ts": "12.5", "dur": 3, "args": null, "tts": 1e3},
      {"ph": "X", "name": "wait é", "pid": 7, "tid": "4", "ts": 20, "dur": 1.5, "args": {"kind": 5, "at": [], "label": {}}},
      {"ph": "X", "name": 3, "pid": -1, "tid": 0.5, "ts": 2, "dur": 1, "args": [1, 2], "id": true},
      {"ph": "C", "name": "used", "pid": 7, "ts": 1, "args": {"value": 3}}
    ], "otherData": "none"}"#;
    let r = read(text.as_bytes()).unwrap();
    let spans: Vec<_> = r.timeline.spans.iter().map(|s| (s.row, s.label.as_str(), s.start / TICKS)).collect();
    assert_eq!(spans, [(1, "", 0), (0, "gemm", 10_500), (0, "wait é", 18_000)]);
    assert_eq!(r.left_out, 1);
}

#[test]
fn what_is_no_trace_is_named() {
    let why = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    assert!(why("{").contains("not a trace in Chrome's format"));
    assert!(why(r#"{"schema": "warpline.schedule/1"}"#).contains("not a trace in Chrome's format"));
    assert!(why("[]").contains("no slices"));
    assert_eq!(why(r#"[{"ph": "X", "ts": 1}]"#), "event 1 is not a slice: it has no `dur`");
    assert_eq!(why(r#"[{"ph": "X", "ts": -1, "dur": 2}]"#), "event 1 is not a slice: its times are no times");
}
