//! No input makes the loaders panic.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use warpline_scenarios::{Inputs, compile, format, parameters, scenario};

const KERNELS: [&str; 8] = [
    include_str!("../good/tma_warp_specialized.pipe"),
    include_str!("../good/level2_2sm.pipe"),
    include_str!("../good/two_step_ahead.pipe"),
    include_str!("../good/proj_k16.pipe"),
    include_str!("../good/triple_buffer.pipe"),
    include_str!("../good/marlin.pipe"),
    include_str!("../good/ring.pipe"),
    include_str!("../good/clc.pipe"),
];

const BITS: [&str; 24] = [
    "",
    "\n",
    "\n    ",
    "\t",
    ":",
    ";",
    "(",
    "]",
    "->",
    "0",
    "-1",
    "9223372036854775807",
    "self",
    "else",
    "if ",
    "for i in ",
    "elect:",
    ".",
    "..",
    "@",
    "/ 0",
    " % 0",
    "é",
    "\"",
];

fn load(text: &str, value: i64) {
    let mut set = BTreeMap::new();
    for p in parameters("f", text).unwrap_or_default() {
        if !p.optional || value % 2 == 0 {
            set.insert(p.name, value);
        }
    }
    let result = compile("f", text, &Inputs { set: &set, cores: None });
    for d in result.err().unwrap_or_default() {
        assert!(text.get(d.span.clone()).is_some(), "{d:?}");
        assert!(!d.message.is_empty() && !d.label.is_empty(), "{d:?}");
        assert!(d.related.iter().all(|(s, _)| text.get(s.clone()).is_some()), "{d:?}");
    }
    if let Ok(once) = format("f", text) {
        assert_eq!(format("f", &once).as_deref(), Ok(once.as_str()));
    }
    let _ = scenario("f.toml", text);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_text(text in "\\PC*", value in any::<i64>()) {
        load(&text, value);
    }

    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        load(&String::from_utf8_lossy(&bytes), 8);
    }

    #[test]
    fn mutated_kernels(
        which in 0..KERNELS.len(),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), 0..12usize, 0..BITS.len()), 1..6),
        value in prop_oneof![Just(512i64), Just(0), Just(1), Just(-7), Just(4100), any::<i64>()],
    ) {
        let mut text = KERNELS[which].to_string();
        for (at, len, bit) in cuts {
            let chars: Vec<char> = text.chars().collect();
            let from = at.index(chars.len());
            let to = (from + len).min(chars.len());
            text = chars[..from].iter().collect::<String>() + BITS[bit] + &chars[to..].iter().collect::<String>();
        }
        load(&text, value);
    }
}

#[test]
fn deep_and_long_texts() {
    let kernel = |body: &str| format!("kernel k(n = 3)\n  warps 4\n{body}\n");
    for n in [10, 100, 100_000] {
        load(&kernel(&format!("  if {}1{}: exit", "(".repeat(n), ")".repeat(n))), 1);
        load(&kernel(&format!("  if 1{}: exit", " + 1".repeat(n))), 1);
        load(&kernel(&format!("  if {}1: exit", "-".repeat(n))), 1);
        load(&kernel(&format!("  if {}1: exit", "not ".repeat(n))), 1);
        load(&kernel(&format!("  if {}1: exit", "1 ? 2 : ".repeat(n))), 1);
        load(&kernel(&format!("  {} exit", "all: ".repeat(n))), 1);
        load(&kernel(&format!("  if n: exit{}", " else if n: exit".repeat(n.min(5000)))), 1);
        load(&kernel(&format!("  lds a{} -> r", ".rows(0, 1)".repeat(n))), 1);
    }
    let steps: String = (0..1000).map(|i| format!("{}all:\n", " ".repeat(i + 2))).collect();
    load(&kernel(&steps), 1);
}
