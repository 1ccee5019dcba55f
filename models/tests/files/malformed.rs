//! Machine files with mistakes, and their messages.
#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::ops::Range;
use warpline_models::{apply, closest, embedded, parse};
use warpline_sim::machine::Kind;

const HEAD: &str = "name = \"x\"\ntitle = \"X\"\nvendor = \"nvidia\"\narch = \"sm_90a\"\n";
const FINE: &str = "{ value = 29, unit = \"cycles\", kind = \"measured\", source = \"me\" }";

/// Text of a machine file with one entry in `[memory]`.
fn memory(entry: &str) -> String {
    format!("{HEAD}[memory]\n{entry}\n")
}

fn said(text: &str) -> Vec<(String, String, Option<String>, Range<usize>)> {
    let errors = parse("x.toml", text).expect_err("a mistake");
    assert!(errors.iter().all(|d| d.file == "x.toml"));
    assert!(errors.iter().all(|d| text.get(d.span.clone()).is_some()), "spans are inside the text");
    errors.into_iter().map(|d| (d.message, d.label, d.help, d.span)).collect()
}

#[test]
fn each_mistake_is_named_with_its_place() {
    // File, the text the message is about, message, label, help.
    let cases: Vec<(String, &str, &str, &str, Option<&str>)> = vec![
        (
            memory(&format!("l2_latencey = {FINE}")),
            "l2_latencey",
            "machines have no parameter `memory.l2_latencey`",
            "unknown parameter",
            Some("did you mean `memory.l2_latency`?"),
        ),
        (
            memory("shared_latency = { value = 29, unit = \"ns\", kind = \"measured\", source = \"me\" }"),
            "\"ns\"",
            "`memory.shared_latency` is in cycles, not in `ns`",
            "expected \"cycles\"",
            Some("convert the value too, and say so in the source"),
        ),
        (
            memory("shared_latency = { value = 29, unit = \"cycles\", source = \"me\" }"),
            "{ value = 29, unit = \"cycles\", source = \"me\" }",
            "`memory.shared_latency` has no `kind`",
            "expected kind = one of `documented`, `measured` and `estimated`",
            None,
        ),
        (
            memory("shared_latency = { value = 29, unit = \"cycles\", kind = \"measured\" }"),
            "{ value = 29, unit = \"cycles\", kind = \"measured\" }",
            "`memory.shared_latency` has no `source`",
            "expected source = ...",
            None,
        ),
        (
            memory("shared_latency = { unit = \"cycles\", kind = \"measured\", source = \"me\" }"),
            "{ unit = \"cycles\", kind = \"measured\", source = \"me\" }",
            "`memory.shared_latency` has no `value`",
            "expected value = ...",
            None,
        ),
        (
            memory("shared_latency = { value = 29, kind = \"measured\", source = \"me\" }"),
            "{ value = 29, kind = \"measured\", source = \"me\" }",
            "`memory.shared_latency` has no `unit`",
            "expected unit = \"cycles\"",
            None,
        ),
        (
            memory("shared_latency = { value = 29, unit = \"cycles\", kind = \"mesured\", source = \"me\" }"),
            "\"mesured\"",
            "`memory.shared_latency` cannot be `mesured`",
            "expected one of `documented`, `measured` and `estimated`",
            Some("did you mean `measured`?"),
        ),
        (
            memory("shared_latency = { value = \"29\", unit = \"cycles\", kind = \"measured\", source = \"me\" }"),
            "\"29\"",
            "the value of `memory.shared_latency` is not a number",
            "expected a number",
            None,
        ),
        (
            memory("shared_latency = { value = nan, unit = \"cycles\", kind = \"measured\", source = \"me\" }"),
            "nan",
            "the value of `memory.shared_latency` is not finite",
            "expected a finite number",
            None,
        ),
        (
            memory("shared_latency = { value = -1, unit = \"cycles\", kind = \"measured\", source = \"me\" }"),
            "-1",
            "the value of `memory.shared_latency` is negative",
            "expected a number from 0 up",
            None,
        ),
        (
            memory(&format!("shared_latency = {}", FINE.replace(" }", ", spread = [30, 40] }"))),
            "[30, 40]",
            "the spread of `memory.shared_latency` does not contain its value",
            "expected a range around 29",
            None,
        ),
        (
            memory(&format!("shared_latency = {}", FINE.replace(" }", ", spread = [40, 20] }"))),
            "[40, 20]",
            "the spread of `memory.shared_latency` is the wrong way round",
            "40 is above 20",
            None,
        ),
        (
            memory(&format!("shared_latency = {}", FINE.replace(" }", ", spread = 3 }"))),
            "3",
            "the spread of `memory.shared_latency` is not a pair",
            "expected [low, high]",
            None,
        ),
        (
            memory(&format!("shared_latency = {}", FINE.replace(" }", ", spread = [20, inf] }"))),
            "inf",
            "the high end of the spread of `memory.shared_latency` is not finite",
            "expected a finite number",
            None,
        ),
        (
            memory(&format!("shared_latency = {}", FINE.replace("source", "sauce = \"x\", source"))),
            "sauce",
            "`memory.shared_latency` has no field `sauce`",
            "unknown field",
            Some("did you mean `source`?"),
        ),
        (
            memory("shared_latency = { value = 29, unit = \"cycles\", kind = \"measured\", source = \" \" }"),
            "\" \"",
            "`memory.shared_latency` does not say where it is from",
            "expected a string that says who found it out, and on what",
            None,
        ),
        (
            memory("shared_latency = 29"),
            "29",
            "`memory.shared_latency` says nothing about where it is from",
            "expected { value = ..., unit = \"cycles\", kind = ..., source = ... }",
            None,
        ),
        (
            memory(&format!("shared_latency = {FINE}\nshared_latency = {FINE}")),
            "shared_latency",
            "`shared_latency` is given twice",
            "the second time",
            None,
        ),
        (
            format!("{HEAD}[memroy]\n"),
            "memroy",
            "machines have nothing called `memroy`",
            "unknown name",
            Some("did you mean `memory`?"),
        ),
        (
            format!("{HEAD}memory = 3\n"),
            "memory",
            "`memory` is not a table",
            "expected `[memory]` and its numbers",
            None,
        ),
        (
            HEAD.replace("nvidia", "nvida"),
            "\"nvida\"",
            "there is no vendor `nvida`",
            "expected one of `amd`, `apple`, `nvidia` and `paper`",
            None,
        ),
        (
            HEAD.replace("sm_90a", "gfx942"),
            "\"gfx942\"",
            "`gfx942` is not an architecture of this vendor",
            "expected one like `sm_90a`",
            None,
        ),
        (
            HEAD.replace("title = \"X\"\n", ""),
            "",
            "the machine has no `title`",
            "expected `title = \"...\"` at the top",
            None,
        ),
        (HEAD.replace("\"X\"", "3"), "3", "`title` is not a word", "expected a string", None),
    ];
    for (text, about, message, label, help) in cases {
        let found = said(&text);
        let [(m, l, h, span)] = found.as_slice() else { panic!("one message for {text}: {found:#?}") };
        assert_eq!((m.as_str(), l.as_str(), h.as_deref()), (message, label, help));
        assert_eq!(&text[span.clone()], about, "{message}");
    }
}

#[test]
fn the_repeated_key_is_the_second_one() {
    let text = memory(&format!("shared_latency = {FINE}\nshared_latency = {FINE}"));
    assert_eq!(Some(said(&text)[0].3.start), text.rfind("shared_latency"));
}

#[test]
fn text_that_is_not_toml_is_an_error_with_a_place() {
    let text = memory("shared_latency = { value = }");
    let found = said(&text);
    assert!(found[0].0.starts_with("this is not TOML: "), "{found:?}");
    assert!(found[0].3.start >= text.find("value").unwrap(), "{found:?}");
}

#[test]
fn all_mistakes_come_in_one_go_and_in_order() {
    let text =
        memory("l3_latency = 1\nl2_latency = { value = -1, unit = \"ns\", kind = \"guessed\" }").replace("sm_90a", "x");
    let found = said(&text);
    let messages: Vec<&str> = found.iter().map(|(m, ..)| m.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`x` is not an architecture of this vendor",
            "machines have no parameter `memory.l3_latency`",
            "`memory.l2_latency` has no `source`",
            "the value of `memory.l2_latency` is negative",
            "`memory.l2_latency` is in cycles, not in `ns`",
            "`memory.l2_latency` cannot be `guessed`",
        ]
    );
}

#[test]
fn a_file_may_leave_numbers_out_and_write_them_in_any_radix() {
    let entry = "l2_bytes = { value = 0x10_00, unit = \"bytes\", kind = \"estimated\", source = \"me\", spread = [4_096, 5e3] }";
    let machine = parse("x.toml", &memory(entry)).unwrap();
    assert_eq!(machine.params.len(), 1);
    let p = &machine.params["memory.l2_bytes"];
    assert_eq!((p.value, p.spread, p.kind), (4096.0, Some((4096.0, 5000.0)), Kind::Estimated));
    assert!(machine.need("memory.l2_latency", "a load").is_err());
}

#[test]
fn numbers_are_set_by_any_of_their_names() {
    for key in ["memory.dram_gbps", "machine.memory.dram_gbps", "machine.dram.gbps", "dram_gbps", "memory.dram.gbps"] {
        let mut m = embedded("h200").unwrap();
        apply(&mut m, key, 4000.0).unwrap();
        let p = &m.params["memory.dram_gbps"];
        assert_eq!((p.value, p.unit.as_str(), p.spread), (4000.0, "GB/s", None), "{key}");
        assert_eq!(p.source, "set on the command line");
    }
    let mut v100 = embedded("v100").unwrap();
    apply(&mut v100, "tma.latency", 300.0).unwrap();
    assert_eq!(v100.get("tma.latency"), Some(300.0), "a number that is missing can be added");
}

#[test]
fn names_that_cannot_be_set_are_explained() {
    let cases = [
        ("memory.dram_gpbs", 1.0, "no machine has a parameter `memory.dram_gpbs`; did you mean `memory.dram_gbps`?"),
        ("machine.dram_gpbs", 1.0, "no machine has a parameter `dram_gpbs`; did you mean `memory.dram_gbps`?"),
        ("flux", 1.0, "no machine has a parameter `flux`"),
        ("latency", 1.0, "`latency` could be one of `tma.latency`, `wgmma.latency`, `umma.latency` and `alu.latency`"),
        ("clock.mhz", -1.0, "`clock.mhz` cannot be -1: its range is 1 to 100000 MHz"),
        ("clock.mhz", f64::NAN, "`clock.mhz` cannot be NaN: its range is 1 to 100000 MHz"),
    ];
    for (key, value, message) in cases {
        let mut m = embedded("h200").unwrap();
        assert_eq!(apply(&mut m, key, value), Err(message.to_string()));
        assert_eq!(Some(m), embedded("h200"), "nothing changes");
    }
}

#[test]
fn a_machine_that_is_not_there_has_a_neighbor() {
    assert_eq!(closest("h20"), Some("h200"));
    assert_eq!(closest("m4max"), Some("m4-max"));
    assert_eq!(closest("tpu"), None);
}
