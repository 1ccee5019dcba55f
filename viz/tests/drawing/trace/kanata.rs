//! Kanata logs, read as Konata reads them: by lines, with a clock that only goes on.

use std::collections::BTreeMap;

use proptest::prelude::*;
use warpline_sim::timeline::{RowKind, SpanKind, Stall, Timeline, Work};
use warpline_viz::trace::kanata::write;

use crate::{random, synth};

#[derive(Default, Debug)]
struct Op {
    label: String,
    detail: String,
    stages: Vec<(u64, String)>,
    from: u64,
    to: Option<u64>,
    needs: Vec<usize>,
}

fn read(text: &str) -> Vec<Op> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("Kanata\t0004"));
    let (mut ops, mut now): (Vec<Op>, u64) = (Vec::new(), 0);
    let mut stage: BTreeMap<usize, String> = BTreeMap::new();
    for line in lines {
        let f: Vec<&str> = line.split('\t').collect();
        let n = |i: usize| f[i].parse::<usize>().unwrap();
        match (f[0], f.len()) {
            ("C=", 2) => now = n(1) as u64,
            ("C", 2) => {
                assert!(n(1) > 0);
                now += n(1) as u64;
            }
            ("I", 4) => {
                assert_eq!(n(1), ops.len(), "ids count up");
                ops.push(Op { from: now, ..Op::default() });
            }
            ("L", 4) if f[2] == "0" => ops[n(1)].label = f[3].into(),
            ("L", 4) if f[2] == "1" => ops[n(1)].detail = f[3].into(),
            ("S", 4) => {
                assert!(ops[n(1)].to.is_none() && f[2] == "0");
                ops[n(1)].stages.push((now, f[3].into()));
                stage.insert(n(1), f[3].into());
            }
            ("E", 4) => assert_eq!(stage.remove(&n(1)).as_deref(), Some(f[3])),
            ("R", 4) => assert!(ops[n(1)].to.replace(now).is_none()),
            ("W", 4) => {
                assert!(n(2) < ops.len(), "what it needs has begun");
                let needs = n(2);
                ops[n(1)].needs.push(needs);
            }
            _ => panic!("{line:?}"),
        }
    }
    assert!(stage.is_empty() && ops.iter().all(|op| op.to.is_some_and(|to| to >= op.from) && !op.stages.is_empty()));
    ops
}

fn check(t: &Timeline) -> Vec<Op> {
    let ops = read(&write(t).unwrap());
    let kind = |row: u32| &t.rows[row as usize].kind;
    let agent = |row| matches!(kind(row), RowKind::Agent { .. });
    let engine = |row| matches!(kind(row), RowKind::Engine(_));
    let stages =
        t.spans.iter().filter(|s| engine(s.row) || agent(s.row) && s.what != SpanKind::Stall(Stall::Ended)).count();
    assert_eq!(ops.iter().map(|op| op.stages.len()).sum::<usize>(), stages);
    ops
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_timelines_are_sound(t in random::timeline()) {
        check(&t);
    }
}

#[test]
fn an_operation_is_its_waits_and_its_work() {
    let t = synth::pipeline(1, 6);
    let ops = check(&t);
    let mma = ops.iter().find(|op| op.label.contains("consumer w4: mma")).unwrap();
    assert!(mma.stages.last().unwrap().1 == "X mma" && mma.stages.len() > 1, "{mma:?}");
    assert!(ops.iter().any(|op| op.detail == "hopper/double_buffer.pipe:15 wait empty[i % 2]"));
    let waits = ops.iter().filter(|op| !op.needs.is_empty()).count();
    assert!(waits > 5, "{waits}");
    let work = t.spans.iter().filter(|s| s.what == SpanKind::Work(Work::Mma)).count();
    assert_eq!(ops.iter().filter(|op| op.label.contains(": mma")).count(), work);
}
