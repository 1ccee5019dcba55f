//! Records that an emitted kernel made (`-DWL_STAMP`, `--trace FILE`), as rows of a timeline.

use warpline_sim::ir::{Instr, MoveKind, Op, Program, Queue};
use warpline_sim::timeline::{Row, RowKind, SourceLine, Span, SpanKind, Stall, TICKS, Timeline, Work};

/// A record that does not fit the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the record: {why}")]
pub struct BadTrace {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong with the line.
    pub why: String,
}

/// The class of work or wait that an operation is drawn as.
fn shown(op: &Op) -> SpanKind {
    let work = |w| SpanKind::Work(w);
    match op {
        Op::MbarWait { .. } => SpanKind::Stall(Stall::Mbarrier),
        Op::Wait(Queue::Vm | Queue::Lgkm | Queue::TmemLd | Queue::TmemSt, _) => SpanKind::Stall(Stall::Counter),
        Op::Wait(..) => SpanKind::Stall(Stall::Group),
        Op::Barrier(_) => SpanKind::Stall(Stall::Barrier),
        Op::Named { sync: true, .. } => SpanKind::Stall(Stall::Named),
        Op::ClusterWait => SpanKind::Stall(Stall::Cluster),
        Op::WarpSync => SpanKind::Stall(Stall::Join),
        Op::Move { how, .. } => work(match how {
            MoveKind::Load | MoveKind::Ldg | MoveKind::CpAsync | MoveKind::LdsDma | MoveKind::TmaLoad => Work::Load,
            MoveKind::Sts | MoveKind::Lds | MoveKind::TmemLd | MoveKind::TmemSt => Work::Shared,
            MoveKind::Store | MoveKind::TmaStore => Work::Store,
        }),
        Op::Mma { .. } => work(Work::Mma),
        Op::Alu { .. } | Op::Zero(_) => work(Work::Alu),
        _ => work(Work::Sync),
    }
}

/// Reads a record: `cta,warp,line,pc,start,end`, in cycles from the CTA's begin. Rows are named `NAME load w0`.
///
/// # Errors
/// The first line that is no row of a record, or names an instruction that the kernel does not have.
pub fn parse(text: &str, prog: &Program, name: &str) -> Result<Timeline, BadTrace> {
    let mut t = Timeline { title: format!("{} on {name}", prog.name), ..Timeline::default() };
    for (i, line) in text.lines().enumerate().skip(1) {
        let bad = |why: String| BadTrace { line: i + 1, why };
        let fields: Result<Vec<u64>, _> = line.split(',').map(str::parse).collect();
        let fields = fields.map_err(|_| bad(format!("six numbers were expected: `{line}`")))?;
        let [cta, warp, at, pc, start, end] = fields[..] else {
            return Err(bad(format!("six numbers were expected: `{line}`")));
        };
        let op = match prog.code.get(pc as usize) {
            Some(Instr::Op { op, .. }) if prog.site(pc as u32).line as u64 == at => op,
            _ => return Err(bad(format!("the kernel has no operation {pc} on its line {at}"))),
        };
        let (cta, warp) = (cta as u32, warp as u32);
        let role = prog.role_of(warp).map_or("warp".to_string(), |r| r.name.clone());
        let row =
            t.rows.iter().position(|r| r.cta == cta && matches!(r.kind, RowKind::Agent { warp: w, .. } if w == warp));
        let row = row.unwrap_or_else(|| {
            t.rows.push(Row {
                name: format!("{name} {role} w{warp}"),
                cta,
                kind: RowKind::Agent { role: role.clone(), warp, lanes: None },
            });
            t.rows.len() - 1
        });
        let site = prog.site(pc as u32);
        let source = SourceLine { file: site.file.clone(), line: site.line, text: site.text.clone() };
        let index = t.sites.iter().position(|s| *s == source).unwrap_or_else(|| {
            t.sites.push(source);
            t.sites.len() - 1
        });
        let times = (start * TICKS, end.max(start + 1) * TICKS);
        t.spans.push(Span { site: Some(index as u32), ..Span::new(row as u32, times, shown(op)) });
        t.end = t.end.max(times.1);
    }
    t.spans.sort_by_key(|s| (s.start, s.row));
    Ok(t)
}

/// Puts the rows of `below` under the rows of `above` with the same warp and CTA, and drops the other rows of
/// `above`.
pub fn beside(above: &Timeline, below: &Timeline, name: &str) -> Timeline {
    let agent = |r: &Row| match &r.kind {
        RowKind::Agent { warp, .. } => Some((r.cta, *warp)),
        _ => None,
    };
    let mut out = Timeline {
        title: above.title.clone(),
        subtitle: above.subtitle.clone(),
        mhz: above.mhz,
        ..Timeline::default()
    };
    let mut take = |from: &Timeline, row: usize, label: String| {
        let index = out.rows.len() as u32;
        out.rows.push(Row { name: label, ..from.rows[row].clone() });
        let spans = from.spans.iter().filter(|s| s.row as usize == row);
        let plain =
            spans.map(|s| Span { row: index, woken_by: None, started_by: None, on: None, site: None, ..s.clone() });
        out.spans.extend(plain);
    };
    for (i, r) in above.rows.iter().enumerate() {
        let Some(who) = agent(r) else { continue };
        let other = below.rows.iter().position(|b| agent(b) == Some(who));
        if let Some(other) = other {
            take(above, i, format!("{name} {}", r.name));
            take(below, other, below.rows[other].name.clone());
        }
    }
    out.spans.sort_by_key(|s| (s.start, s.row));
    out.end = above.end.max(below.end);
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use warpline_scenarios::{Inputs, compile};

    const KERNEL: &str =
        "kernel k()\n  warps 2\n  shared s: f16[64, 64]\n  reg r: f16[64, 64]\n  all:\n    barrier\n    sts r -> s\n";

    fn kernel() -> Program {
        compile("k.pipe", KERNEL, &Inputs { set: &BTreeMap::new(), cores: None }).unwrap()
    }

    #[test]
    fn a_record_becomes_rows_and_spans() {
        let t = parse("cta,warp,line,pc,start,end\n0,0,6,0,10,30\n0,1,6,0,20,30\n0,0,7,1,31,40\n", &kernel(), "device")
            .unwrap();
        assert_eq!(t.rows.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["device warp w0", "device warp w1"]);
        assert_eq!((t.spans.len(), t.spans[0].what, t.end), (3, SpanKind::Stall(Stall::Barrier), 40 * TICKS));
        let both = beside(&t, &t, "again");
        assert_eq!((both.rows.len(), both.spans.len()), (4, 6));
        assert_eq!(both.rows[0].name, "again device warp w0");
    }

    #[test]
    fn a_record_of_another_kernel_is_refused() {
        for (row, part) in [
            ("0,0,9,0,1,2", "line 9"),
            ("0,0,6,77,1,2", "operation 77"),
            ("0,0,6", "six numbers"),
            ("a,b,c,d,e,f", "six"),
        ] {
            let e = parse(&format!("head\n{row}\n"), &kernel(), "d").unwrap_err();
            assert!(e.line == 2 && e.why.contains(part), "{e}");
        }
    }
}
