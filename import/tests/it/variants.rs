//! The programs of all outcomes of conditions over the launch are those of all combinations.

use std::collections::BTreeSet;

use warpline_import::{lift, ptx};
use warpline_sim::ir::{ParamId, Program};

/// Barriers behind conditions on arguments, some of them inside of others.
const NESTED: &str = "
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra B;
    bar.sync 0;
    setp.eq.s32 %p2, %r2, 0;
    @%p2 bra A;
    bar.sync 1;
A:
    setp.eq.s32 %p3, %r3, 0;
    @%p3 bra C;
    bar.sync 2;
    bra.uni C;
B:
    setp.eq.s32 %p4, %r4, 0;
    @%p4 bra C;
    bar.sync 3;
C:
";

fn lifted(body: &str) -> lift::Lifted {
    let args: String = (1..5).map(|n| format!("ld.param.u32 %r{n}, [k_{n}];\n")).collect();
    let list: Vec<String> = (1..5).map(|n| format!(".param .u32 k_{n}")).collect();
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k({})\n.reqntid 64\n{{\n.reg .pred %p<8>;\n\
         .reg .b32 %r<8>;\n{args}{body}ret;\n}}\n",
        list.join(", ")
    );
    let module = ptx::read(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let found = lift::lift(&module, &module.entries[0], "k.ptx", &text, &lift::Launch::default());
    found.unwrap_or_else(|e| panic!("{} {}", e.line, e.message))
}

/// The program of each combination, each once.
fn all(l: &lift::Lifted) -> Vec<Program> {
    let symbols: Vec<ParamId> = l.free.iter().map(|f| f.symbol).collect();
    let kept: BTreeSet<ParamId> = (0..l.program.symbols.len() as ParamId).filter(|p| !symbols.contains(p)).collect();
    let mut list: Vec<Program> = Vec::new();
    for n in 0..1i64 << symbols.len() {
        let name = |s: &ParamId| l.program.symbols[*s as usize].name.as_str();
        let values: Vec<(&str, i64)> = symbols.iter().enumerate().map(|(i, s)| (name(s), n >> i & 1)).collect();
        let next = l.program.with(&values).expect("nothing is required").bind_all_but(&kept);
        if !list.iter().any(|p| Program { params: next.params.clone(), ..p.clone() } == next) {
            list.push(next);
        }
    }
    list
}

#[test]
fn programs_of_nested_conditions_are_those_of_all_combinations() {
    let l = lifted(NESTED);
    assert_eq!((l.free.len(), l.capped.len()), (4, 0));
    let found: Vec<Program> = l.variants().map(|p| Program::clone(&p)).collect();
    // Two outcomes of the fourth condition, or four of the second and the third.
    assert_eq!(found.len(), 6);
    assert_eq!(found, all(&l));
}
