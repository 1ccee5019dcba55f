//! The reference of kernels in tensor memory, and what they are emulated by.

use std::collections::BTreeMap;

use warpline_emit::cuda;
use warpline_scenarios::{Inputs, compile, embedded_kernel, embedded_names};
use warpline_sim::ir::{Class, Instr, MoveKind, Op};

use super::{machine_of, program, small};

/// The reference alone.
fn reference(text: &str) -> &str {
    let from = text.find(") reference(").unwrap();
    let from = text[..from].rfind("__global__").unwrap();
    &text[from..from + text[from..].find("\n}").unwrap()]
}

#[test]
fn every_kernel_that_reads_tensor_memory_has_a_reference() {
    let mut count = 0;
    for name in embedded_names() {
        let p = program(name);
        let (Some(_), Ok(text)) = (p.objects.iter().find(|o| o.class == Class::Tmem), cuda(&p, &p)) else { continue };
        let reads = |i: &Instr| matches!(i, Instr::Op { op: Op::Move { how: MoveKind::TmemLd, .. }, .. });
        let passes = if p.code.iter().any(reads) { 3 } else { 1 };
        assert_eq!(machine_of(name).arch, "sm_100a", "{name}");
        assert!(text.contains("constexpr bool REFERENCE = true;"), "{name}");
        assert!(text.contains(&format!("constexpr unsigned PASSES = {passes};")), "{name}");
        count += (passes == 3) as usize;
    }
    assert!(count >= 12, "{count}");
}

#[test]
fn copies_and_products_are_noted_for_the_threads_that_read_the_sums() {
    let p = small("blackwell/gemm_2sm_persistent", &[("m", 512), ("n", 512), ("k", 192), ("pairs", 2)]);
    insta::assert_snapshot!("gemm_2sm_persistent_reference", reference(&cuda(&p, &p).unwrap()));
    // Rows that leave through shared memory go where the copy out of it brings them.
    let p = small("correct/deepgemm_sm100", &[]);
    let text = cuda(&p, &p).unwrap();
    assert!(reference(&text).contains("const wl::Tile t = wl::noted(common, cta,"));
    // Whoever is handed a tile as the kernel runs: in the reference every cluster has its own.
    let p = small("correct/thunderkittens_clc", &[]);
    let text = cuda(&p, &p).unwrap();
    assert!(reference(&text).contains(" = -1;") && !reference(&text).contains("clc_tile"));
}

#[test]
fn what_the_reference_cannot_follow_has_none_and_the_file_says_why() {
    let (file, text) = embedded_kernel("blackwell/gemm_2sm").unwrap();
    let set: BTreeMap<String, i64> = [("m", 256), ("n", 256), ("k", 192)].map(|(k, v)| (k.to_string(), v)).into();
    let read = "      tmem.ld acc.rows(self) -> r;  wait tmem.ld <= 0\n";
    let copy = "      tma A[cta.m, i] -> a[i % stages] signals full[i % stages] @cta 0\n";
    let halves = "      tma A[cta.m, i].rows(0, 2) -> a[i % stages].rows(0, 2) signals full[i % stages] @cta 0\n      \
                  tma A[cta.m, i].rows(1, 2) -> a[i % stages].rows(1, 2) signals full[i % stages] @cta 0\n";
    let multiply = "      umma.pair a[i % stages], b[i % stages] -> acc\n";
    for (from, to, why) in [
        (
            read,
            format!("{read}      tmem.ld acc.rows(self) -> q;  wait tmem.ld <= 0\n"),
            "several statements read one accumulator",
        ),
        (
            read,
            format!("{read}      tmem.st r -> acc.rows(self);  wait tmem.st <= 0\n"),
            "threads write to tensor memory",
        ),
        (copy, halves.to_string(), "not the whole of what one warp copies"),
        (multiply, format!("{multiply}{multiply}"), "several products that name no tile read one buffer"),
    ] {
        assert!(text.contains(from), "{from}");
        let p = compile(file, &text.replace(from, &to), &Inputs { set: &set, cores: None }).unwrap();
        let text = cuda(&p, &p).unwrap();
        assert!(text.contains("constexpr bool REFERENCE = false;"), "{why}");
        let said = text.lines().find(|l| l.starts_with("// There is no reference: ")).unwrap();
        assert!(said.contains(why), "{said}");
    }
}
