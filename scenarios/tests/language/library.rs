//! Every scenario that comes with the program reads and compiles.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use warpline_scenarios::{Inputs, compile, embedded, embedded_kernel_of, embedded_names, scenario};

#[test]
fn every_embedded_scenario_compiles() {
    let mut bad = 0;
    for name in embedded_names() {
        let (file, text) = embedded(name).unwrap();
        let s = match scenario(file, text) {
            Ok(s) => s,
            Err(all) => {
                bad += all.len();
                all.iter().for_each(|d| eprintln!("{name}: {} | {} | {}", d.message, d.label, &text[d.span.clone()]));
                continue;
            }
        };
        for b in s.beside.iter().filter_map(|b| b.scenario.as_deref()) {
            assert!(embedded(b).is_some(), "{name}: no scenario `{b}` to show beside it");
        }
        let (kernel, text) = embedded_kernel_of(name, &s.kernel).unwrap_or_else(|| panic!("{name}: no {}", s.kernel));
        if let Err(all) = compile(kernel, text, &Inputs { set: &s.set, cores: Some(16) }) {
            bad += all.len();
            for d in all {
                let line = text[..d.span.start].matches('\n').count() + 1;
                eprintln!(
                    "{name}: {kernel}:{line}: {} | {} | {:?} | {}",
                    d.message,
                    d.label,
                    d.help,
                    &text[d.span.clone()]
                );
            }
        }
    }
    assert_eq!(bad, 0);
}
