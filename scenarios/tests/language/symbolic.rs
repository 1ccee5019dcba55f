//! A kernel lowered once, with other values of its symbols, is the kernel lowered with these values.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;

use warpline_scenarios::{Inputs, Text, embedded, embedded_kernel, embedded_names, scenario};
use warpline_sim::ir::{Class, Program};

/// Every embedded scenario's kernel with the scenario's values.
fn kernels() -> Vec<(String, Text, BTreeMap<String, i64>)> {
    let all = embedded_names().into_iter().map(|name| {
        let (file, text) = embedded(name).unwrap();
        let s = scenario(file, text).unwrap();
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut path: Vec<&str> = folder.split('/').collect();
        for part in s.kernel.split('/') {
            if part == ".." {
                path.pop();
            } else {
                path.push(part);
            }
        }
        let (file, text) = embedded_kernel(&path.join("/")).unwrap();
        (name.to_string(), Text::read(file, text), s.set)
    });
    all.collect()
}

/// Without the registers at the end that no code names: those of code that these values never reach.
fn named(mut p: Program) -> Program {
    while let Some(o) = p.objects.last() {
        let id = p.objects.len() - 1;
        let mut code = String::new();
        p.code.iter().for_each(|i| code += &format!("{i:?}"));
        if o.class != Class::Reg || code.contains(&format!("obj: {id},")) {
            break;
        }
        p.objects.pop();
    }
    p
}

fn first_difference(a: &Program, b: &Program) -> String {
    let (x, y) = (format!("{a:#?}"), format!("{b:#?}"));
    let line = x.lines().zip(y.lines()).position(|(x, y)| x != y).unwrap_or(0);
    let around = |s: &str| s.lines().skip(line.saturating_sub(6)).take(14).collect::<Vec<_>>().join("\n");
    format!("{}\n--- expected\n{}", around(&x), around(&y))
}

#[test]
fn bound_is_what_lowering_makes_of_the_values() {
    let mut symbols = 0;
    let mut wrong = Vec::new();
    for (name, text, set) in kernels() {
        let inputs = Inputs { set: &set, cores: Some(132) };
        let Ok(program) = text.compile_symbolic(&inputs) else {
            wrong.push(format!("{name}: does not lower"));
            continue;
        };
        symbols += program.symbols.len();
        let mut tries = vec![program.clone()];
        for s in program.symbols.iter().filter(|s| s.definition.is_none()) {
            let more = [0, 1, s.value / 2, s.value * 2, s.value * 3];
            tries.extend(more.into_iter().filter_map(|v| program.with(&[(&s.name, v)])));
        }
        for p in tries {
            let set: BTreeMap<String, i64> = p.params.iter().cloned().collect();
            let Ok(expected) = text.compile(&Inputs { set: &set, cores: Some(132) }) else { continue };
            let (bound, mut expected) = (named(p.bind()), named(expected));
            // Code that these values never reach may cut a buffer into more pieces, which changes no access.
            for (o, by) in expected.objects.iter_mut().zip(&bound.objects) {
                let finer = |x: &[u32], y: &[u32]| y.iter().all(|c| x.contains(c));
                if finer(&by.row_cuts, &o.row_cuts) && finer(&by.col_cuts, &o.col_cuts) {
                    (o.row_cuts, o.col_cuts) = (by.row_cuts.clone(), by.col_cuts.clone());
                }
                // Likewise the first use, of which a global object has its block, may be in a loop that runs no more.
                if o.block.iter().zip(by.block).all(|(o, by)| by > 0 && o % by == 0) {
                    o.block = by.block;
                }
            }
            if bound != expected {
                wrong.push(format!("{name} {:?}\n{}", p.params, first_difference(&bound, &expected)));
                break;
            }
        }
    }
    assert!(symbols > 100, "{symbols} symbols");
    assert!(wrong.is_empty(), "{} kernels\n{}", wrong.len(), wrong.join("\n\n"));
}
