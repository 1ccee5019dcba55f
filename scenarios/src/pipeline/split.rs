//! The two-step-ahead schedule: tiles in halves, the product in quadrants, and three of four halves loaded two steps
//! ahead.
//!
//! This is HipKittens' schedule, which seed 001 asks for, as a table of stages and orders. The missing half of step i +
//! 1 is loaded first. The other three halves replace those of step i, each after its last read.

use super::body::Body;
use super::items::{moves, product};
use warpline_sim::ir::MoveKind;

use crate::ast::{DeclKind, Kernel, Operation, Pipelined, Place, Span, Stmt, StmtKind};

/// The kernel with the loop's tiles in halves and a table of stages.
pub(super) fn halves(text: &str, kernel: &Kernel, p: &Pipelined, body: &Body) -> Result<String, String> {
    let [x, y, z] = body.units.as_slice() else {
        return Err("two steps ahead is for two copies and a product".to_string());
    };
    let (loads, mul) = ([moves(&x.stmt), moves(&y.stmt)], product(&z.stmt));
    let (Some([a, b, acc]), [[la], [lb]], true) =
        (mul, [loads[0].as_slice(), loads[1].as_slice()], x.copies && y.copies)
    else {
        return Err("two steps ahead is for two copies and a product".to_string());
    };
    let (la, lb) = if la.dst.name.text == a.name.text { (la, lb) } else { (lb, la) };
    if la.dst.name.text != a.name.text || lb.dst.name.text != b.name.text {
        return Err("two steps ahead is for a product of what is copied".to_string());
    }
    let mut edits: Vec<(Span, String)> = Vec::new();
    for m in [la, lb] {
        let Some(decl) = kernel.decls.iter().find_map(|d| match &d.kind {
            DeclKind::Memory(mem) if mem.name.text == m.dst.name.text => Some((mem, &d.span)),
            _ => None,
        }) else {
            return Err(format!("`{}` is not declared", m.dst.name.text));
        };
        let axis = axis(&m.src, &p.range.var.text);
        if decl.0.pieces.is_none() {
            edits.push((decl.1.end..decl.1.end, format!(" pieces 2 {axis}")));
        }
    }
    let src = |s: &Span| text[s.clone()].to_string();
    let cut = |place: &Place, half: usize| {
        let at = place.sels.first().map_or(place.span.end, |s| s.span.start);
        format!("{}.{half}{}", text[place.span.start..at].trim_end_matches('.'), rest(text, place, at))
    };
    let tile = |place: &Place, half: usize| {
        place.tile.as_ref().map_or(String::new(), |t| format!(" : {}.{half}", src(&t.span)))
    };
    let copy = |m: &crate::ast::Move, half: usize| format!("load {} -> {}", cut(&m.src, half), cut(&m.dst, half));
    let frag = |place: &Place, half: usize| format!("{}{half}_frag", place.name.text);
    let read =
        |place: &Place, half: usize| format!("lds {}{} -> {}", cut(place, half), tile(place, half), frag(place, half));
    let mma = |i: usize, j: usize| format!("mma {}, {} -> {}.{i}{j}", frag(a, i), frag(b, j), acc.name.text);
    // In the order of the plain loop; stage and order make it the schedule.
    let lines = [
        format!("stage 0 order 5 async: {}", copy(la, 0)),
        format!("stage 0 order 8 async: {}", copy(lb, 0)),
        format!("stage 0 order 10 async: {}", copy(lb, 1)),
        format!("stage 1 order 2 async: {}", copy(la, 1)),
        format!("stage 2 order 0: {}", read(a, 0)),
        format!("stage 2 order 1: {}", read(b, 0)),
        format!("stage 2 order 3: {}", mma(0, 0)),
        format!("stage 2 order 4: {}", read(b, 1)),
        format!("stage 2 order 6: {}", mma(0, 1)),
        format!("stage 2 order 7: {}", read(a, 1)),
        format!("stage 2 order 9: {}", mma(1, 0)),
        format!("stage 2 order 11: {}", mma(1, 1)),
    ];
    let line = text[..p.extent.start].rfind('\n').map_or(0, |n| n + 1);
    let pad = " ".repeat(p.extent.start - line);
    let head =
        format!("pipelined {} in {}..{} guarded:", p.range.var.text, src(&p.range.from.span), src(&p.range.to.span));
    let end = p.extent.end + text[p.extent.end..].find('\n').unwrap_or(0);
    let all: Vec<String> = lines.iter().map(|l| format!("\n{pad}  {l}")).collect();
    edits.push((p.extent.start..end, format!("{head}{}", all.concat())));
    let mut stores = 0;
    for s in &kernel.body {
        results(text, s, &acc.name.text, &mut edits, &mut stores);
    }
    if stores == 0 {
        return Err(format!("two steps ahead needs a `store` of `{}` behind the loop", acc.name.text));
    }
    edits.sort_by_key(|(s, _)| (s.start, s.end));
    let (mut out, mut at) = (String::new(), 0);
    for (s, new) in edits {
        out.push_str(&text[at..s.start]);
        out.push_str(&new);
        at = s.end;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// The axis of a matrix on which the coordinate does not depend on the loop.
fn axis(place: &Place, var: &str) -> &'static str {
    let mut names = Vec::new();
    place.at.first().into_iter().for_each(|e| e.names(&mut names));
    if names.contains(&var) { "cols" } else { "rows" }
}

/// The selectors of a place, with their dots.
fn rest(text: &str, place: &Place, at: usize) -> String {
    let sels = text[at..place.span.end].to_string();
    if sels.is_empty() || sels.starts_with('.') { sels } else { format!(".{sels}") }
}

/// Stores the accumulator by quadrants.
fn results(text: &str, s: &Stmt, acc: &str, edits: &mut Vec<(Span, String)>, found: &mut usize) {
    match &s.kind {
        StmtKind::Block(_, body) | StmtKind::For(_, body) => {
            body.iter().for_each(|s| results(text, s, acc, edits, found));
        }
        StmtKind::Op(op, _) => {
            let Operation::Move(m) = op.as_ref() else { return };
            if m.how != MoveKind::Store || m.src.name.text != acc {
                return;
            }
            *found += 1;
            let at = m.dst.sels.first().map_or(m.dst.span.end, |s| s.span.start);
            let base = text[m.dst.span.start..at].trim_end_matches('.');
            let line = text[..s.span.start].rfind('\n').map_or(0, |n| n + 1);
            let pad = " ".repeat(text[line..s.span.start].len());
            let new = format!(
                "for r in 0..2, c in 0..2:\n{pad}  store {acc}.rows(r, 2).cols(c, 2) -> {base}.rows(r, 2).cols(c, 2){}",
                rest(text, &m.dst, at)
            );
            edits.push((s.span.clone(), new));
        }
        _ => {}
    }
}
