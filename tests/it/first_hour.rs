//! What a kernel author types in the first hour: wrong units, impossible machines, instructions by their real names.

use warpline_tests::{TempDir, warpline};

/// A command that ends with status 2 and says each of these.
fn refuses(args: &[&str], words: &[&str]) {
    let said = warpline(args);
    let text = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.status.code(), 2, "{args:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{args:?}: `{word}` is missing in {text}");
    }
}

/// A kernel with one statement in its body.
fn kernel(dir: &TempDir, statement: &str) -> String {
    let text = format!("kernel k(n = 4)\n  warps 4   grid 1\n  global x: counter[4]\n  all:\n    {statement}\n");
    dir.write("k.pipe", text)
}

#[test]
fn an_unknown_unit_shows_the_units() {
    let dir = TempDir::new();
    let path = kernel(&dir, "alu banana 4096");
    refuses(&["run", &path, "--machine", "h200"], &["no unit `banana`", "`fma`", "`exp`", "`int`", "k.pipe:5:9"]);
    let path = kernel(&dir, "alu expp 64");
    refuses(&["verify", &path, "--machine", "h200"], &["did you mean `exp`?"]);
}

#[test]
fn impossible_machine_numbers_name_the_key_and_the_range() {
    let range = "`memory.dram_gbps` cannot be 0: its range is 0.001 to";
    refuses(&["run", "metal/triple_buffer", "--set", "machine.memory.dram_gbps=0"], &[range, "GB/s"]);
    for value in ["-1", "1e18"] {
        let set = format!("machine.memory.dram_latency={value}");
        refuses(&["run", "metal/triple_buffer", "--set", &set], &["`memory.dram_latency` cannot be", "0 to 1000000"]);
    }
    refuses(&["run", "metal/triple_buffer", "--set", "machine.core.count=0"], &["`core.count`", "1 to"]);
    let dir = TempDir::new();
    let text = warpline_models::text("h200").expect("it comes along");
    let line = text.lines().find(|l| l.starts_with("dram_gbps")).expect("it has a bandwidth");
    let zero = text.replace(line, "dram_gbps = { value = 0, unit = \"GB/s\", kind = \"documented\", source = \"x\" }");
    let path = dir.write("m.toml", zero);
    refuses(
        &["run", "hopper/tma_wgmma", "--machine", &path],
        &["`memory.dram_gbps` cannot be 0", "its range is", "m.toml:"],
    );
}

#[test]
fn padding_is_not_useful_work() {
    let said = warpline(&["run", "metal/triple_buffer", "--set", "k=1"]);
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("0.226 TFLOPS useful: 96.9 % of the products are padding of tiles"), "{text}");
    let whole = warpline(&["run", "metal/triple_buffer", "--set", "m=512", "--set", "n=512"]);
    assert!(!whole.out.contains("padding"), "{}", whole.out);
}

#[test]
fn problems_of_several_sizes_are_ranked_by_their_rate() {
    let sizes = warpline(&["sweep", "metal/triple_buffer", "--vary", "m,n=256:256,512:512"]);
    assert!(sizes.out.contains("Best useful_tflops") && sizes.out.contains("at m=512 n=512"), "{}", sizes.out);
    let stages = warpline(&["sweep", "metal/triple_buffer", "--vary", "stages=3,4", "--set", "m=512"]);
    assert!(stages.out.contains("Best time_us"), "{}", stages.out);
}

#[test]
fn instructions_by_their_real_names_get_their_name_here() {
    let dir = TempDir::new();
    let cases = [
        ("cp.async A -> s", "is written `cp g -> s` here"),
        ("ldmatrix s -> r", "is written `lds s -> r` here"),
        ("stmatrix r -> s", "is written `sts r -> s` here"),
        ("setmaxnreg.dec 40", "is written `regs dec n` here"),
        ("__syncthreads()", "is written `barrier` here"),
        ("mbarrier.arrive.expect_tx.shared.b64 x", "is written `arrive b expect bytes(x)` here"),
        ("mbarrier.arrive x", "is written `arrive b` here"),
        ("griddepcontrol.wait", "is written `grid.wait` here"),
        ("bar.sync 1, 128", "is written `bar sync x (n)` here"),
        ("s_waitcnt vmcnt(0)", "is written `wait vm <= n` here"),
        ("threadgroup_barrier(0)", "is written `barrier` here"),
        ("atomicAdd(x, 1)", "is written `atom.add x[e], v -> old` here"),
        ("red.async x, 1", "is not supported"),
        ("st.async x, 1", "is written `sts r -> s @cta e signals b @cta e` here"),
        ("shfl.sync x, 1", "is not supported"),
        ("break", "`break` of C++ is not supported"),
        ("return", "is written `exit` here"),
    ];
    for (statement, words) in cases {
        let path = kernel(&dir, statement);
        refuses(&["run", &path, "--machine", "h200"], &[words, "k.pipe:5:5"]);
    }
}

#[test]
fn explain_knows_what_verify_prints_and_the_names_of_instructions() {
    for args in [["explain", "stale tile"], ["explain", "WL0110"], ["explain", "Stale-Tile"]] {
        assert!(warpline(&args).out.contains("WL0110"), "{args:?}");
    }
    assert!(warpline(&["explain", "deadlock"]).out.contains("WL0201"));
    assert!(warpline(&["explain", "cp.async.ca"]).out.contains("`cp g -> s`"));
    assert!(warpline(&["explain", "alu"]).out.contains("alu.exp_per_clk"));
    let sync = warpline(&["explain", "cluster.sync"]).out;
    assert!(sync.contains("`barrier.cluster.arrive`"), "{sync}");
    // A word of this language is not a longer name of an instruction elsewhere that is not supported.
    assert!(!warpline(&["explain", "red.add"]).out.contains("not supported"));
    assert!(warpline(&["explain", "mbarrier.init"]).out.contains("`mbar b[stages] (n)`"));
    refuses(&["explain", "stale tyle"], &["did you mean `stale tile`?"]);
    refuses(&["explain", "WL9999"], &["no finding has the code"]);
    let object: serde_json::Value = serde_json::from_str(&warpline(&["explain", "shfl", "--json"]).out).expect("JSON");
    assert_eq!((&object["schema"], &object["mnemonics"][0]["here"]), (&"warpline.explain/1".into(), &().into()));
    let object: serde_json::Value = serde_json::from_str(&warpline(&["explain", "--json"]).out).expect("JSON");
    assert_eq!(object["codes"].as_array().map(Vec::len), Some(warpline_sim::code::Code::ALL.len()));
}

#[test]
fn list_prints_json() {
    let object: serde_json::Value = serde_json::from_str(&warpline(&["list", "metal", "--json"]).out).expect("JSON");
    let names: Vec<&str> =
        object["scenarios"].as_array().expect("a list").iter().filter_map(|s| s["name"].as_str()).collect();
    assert!(names.contains(&"metal/triple_buffer") && names.iter().all(|n| n.starts_with("metal")), "{names:?}");
}

#[test]
fn folders_and_devices_are_named_as_such() {
    let dir = TempDir::new();
    let folder = dir.path().display().to_string();
    refuses(&["run", &folder], &["is a folder, and this command takes one scenario or kernel"]);
    refuses(&["run", "metal"], &["there is no built-in scenario `metal`"]);
    refuses(&["run", "hopper/tma_wgmma", "--machine", &format!("{folder}/x.toml")], &["cannot read"]);
    std::fs::create_dir(dir.path().join("k.pipe")).expect("writable");
    refuses(&["run", &dir.file("k.pipe"), "--machine", "h200"], &["is a folder, and one file is needed"]);
    if cfg!(unix) {
        refuses(&["run", "/dev/null"], &["`/dev/null` is a device or a pipe"]);
    }
}

#[test]
fn a_very_long_line_is_not_echoed() {
    let dir = TempDir::new();
    let path = kernel(&dir, &"x".repeat(400_000));
    let said = warpline(&["run", &path, "--machine", "h200"]);
    assert!(said.status.code() == 2 && said.err.len() < 4_000, "{} bytes", said.err.len());
}

#[test]
fn a_trace_has_a_window_and_a_sensible_size() {
    let dir = TempDir::new();
    let trace = |name: &str, more: &[&str]| {
        let file = dir.file(name);
        let said = warpline(&[&["trace", "metal/triple_buffer", "-o", &file], more].concat());
        (said.status.code(), said.err, std::fs::metadata(&file).map_or(0, |about| about.len()))
    };
    let (code, note, first) = trace("a.pftrace", &[]);
    assert!(code == 0 && note.contains("--whole") && first < 12_000_000, "{first} bytes: {note}");
    let (code, note, part) = trace("b.pftrace", &["--from", "1000", "--to", "20000"]);
    assert!(code == 0 && note.is_empty() && part < first, "{part} bytes: {note}");
    let (code, note, _) = trace("c.pftrace", &["--from", "2000", "--to", "1000"]);
    assert!(code == 2 && note.contains("the window is empty"), "{note}");
}

#[test]
fn an_error_is_json_where_json_was_asked_for() {
    let dir = TempDir::new();
    let path = kernel(&dir, "barier");
    let said = warpline(&["run", &path, "--machine", "h200", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    let error = &object["errors"][0];
    assert_eq!((said.status.code(), &object["schema"]), (2, &"warpline.error/1".into()));
    assert_eq!(
        (&error["line"], &error["column"], &error["help"]),
        (&5.into(), &5.into(), &"did you mean `barrier`?".into())
    );
    assert!(said.err.contains("k.pipe:5:5"), "{}", said.err);
}

#[test]
fn help_names_every_command_in_groups() {
    let help = warpline(&["--help"]).out;
    let at = |word: &str| help.find(word).unwrap_or_else(|| panic!("`{word}` is missing in {help}"));
    assert!(at("Start here") < at("  run ") && at("  run ") < at("  verify ") && at("  verify ") < at("Understand"));
    assert!(at("Options:") > at("Shell:"));
}

#[test]
fn many_findings_of_a_rule_get_a_few_frames_and_their_lines() {
    let line = |n: usize| (format!("st.shared.b32 [%r4+{}], %r1;\n", n * 1024), format!("// {n}\n").repeat(5));
    let stores: String = (0..10).map(|n| line(n).0).collect();
    let far: String = (0..10).map(|n| line(n).1).collect();
    let loads: String = (0..10).map(|n| format!("ld.shared.b32 %r{}, [%r6+{}];\n", n + 10, n * 1024)).collect();
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() .reqntid 64\n{{\n.reg .b32 %r<40>;\n\
         .shared .align 16 .b8 tile[10240];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, tile;\n\
         add.s32 %r4, %r3, %r2;\nxor.b32 %r5, %r2, 128;\nadd.s32 %r6, %r3, %r5;\n{stores}{far}{loads}ret;\n}}\n"
    );
    let dir = TempDir::new();
    let said = warpline(&["verify", &dir.write("k.ptx", text), "--no-suggestion"]);
    assert_eq!(said.status.code(), 1, "{}", said.err);
    assert_eq!(said.out.matches("× WL0101 RAW race").count(), 4, "{}", said.out);
    assert!(said.out.contains("6 more of WL0101, at lines 78, 79, 80, 81, 82, 83"), "{}", said.out);
    // The lines between a store and a load are in no frame.
    assert!(!said.out.contains("// 5"), "{}", said.out);
}
