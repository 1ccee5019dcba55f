//! The command line and files: kernels and scenarios of one's own, pictures, formatting.

use std::fs;

use warpline::Status;
use warpline_tests::{TempDir, warpline};

#[track_caller]
fn refuses(args: &[&str], parts: &[&str]) {
    let said = warpline(args);
    assert_eq!(said.status, Status::BadInput, "{args:?}: {said:?}");
    // Long messages are broken into lines.
    let words = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(words.contains(part), "{args:?}: `{part}` is missing in\n{}", said.err);
    }
}

#[test]
fn a_new_kernel_runs_is_formatted_and_is_not_overwritten() {
    let dir = TempDir::new();
    let name = dir.file("mine");
    let said = warpline(&["new", &name]);
    assert_eq!((said.status, said.err.as_str()), (Status::Holds, ""));
    assert_eq!(dir.names(), ["mine.pipe", "mine.toml"]);
    let (kernel, scenario) = (dir.file("mine.pipe"), dir.file("mine.toml"));
    let run = warpline(&["run", &scenario, "--set", "m=512", "--set", "n=512"]);
    assert_eq!(run.status, Status::Holds, "{}{}", run.out, run.err);
    assert!(run.out.contains("time than three buffers") || run.out.contains("as long as three buffers"), "{}", run.out);
    assert_eq!(warpline(&["check", &scenario]).status, Status::Holds);
    assert_eq!(warpline(&["fmt", "--check", &kernel]).out, "");
    let before = fs::read_to_string(&kernel).unwrap();
    refuses(&["new", &name], &["exists already; nothing was written"]);
    assert_eq!(fs::read_to_string(&kernel).unwrap(), before);
    // A kernel alone names no machine.
    let kernel_only = ["run", &kernel, "--set", "m=512", "--set", "n=512", "--set", "k=512"];
    refuses(&kernel_only, &["names no machine", "`sm_80`", "--machine"]);
    let on_a100 = warpline(&[&kernel_only[..], &["--machine", "a100"]].concat());
    assert_eq!(on_a100.status, Status::Holds, "{}", on_a100.err);
}

#[test]
fn a_new_kernel_needs_a_name_that_kernels_can_have() {
    let dir = TempDir::new();
    for bad in ["two words", "9lives", "a-b", "x.pipe", "ünder"] {
        refuses(&["new", &dir.file(bad)], &["kernel's name"]);
    }
    refuses(&["new", &dir.file("none/x")], &["cannot write", "nothing was written"]);
    assert!(dir.names().is_empty());
}

#[test]
fn all_errors_of_a_kernel_are_shown_with_carets() {
    let dir = TempDir::new();
    let kernel = dir.write(
        "bad.pipe",
        "kernel bad(m)\n  warps 4\n  global A: f16[m, m]\n  shared a: f16[64, 64]\n  all:\n    load A[0, 0] -> c\n    barier\n",
    );
    let args = ["run", &kernel, "--machine", "h200", "--set", "m=64"];
    refuses(&args, &["bad.pipe:6:", "bad.pipe:7:", "load A[0, 0] -> c", "barier", "2 errors"]);
}

#[test]
fn inputs_that_are_no_text_or_no_file() {
    let dir = TempDir::new();
    let binary = dir.write("x.pipe", b"kernel x\n\xff\xfe");
    refuses(&["run", &binary, "--machine", "h200"], &["line 2 is not valid UTF-8"]);
    fs::create_dir(dir.path().join("d.pipe")).unwrap();
    refuses(&["run", &dir.file("d.pipe"), "--machine", "h200"], &["is a folder, and one file is needed"]);
    let empty = dir.write("e.pipe", "");
    refuses(&["run", &empty, "--machine", "h200"], &["e.pipe"]);
    let scenario = dir.write("s.toml", "title = 3\nkernell = \"x.pipe\"\n");
    refuses(&["run", &scenario], &["s.toml:"]);
    let machine = dir.write("m.toml", "name = \"m\"\n[clock]\nmhz = 3\n");
    refuses(&["run", "metal/triple_buffer", "--machine", &machine], &["m.toml:"]);
}

#[test]
fn pictures_are_written_whole_or_not_at_all() {
    let dir = TempDir::new();
    let small = ["--set", "m=64", "--set", "n=64", "--set", "k=256"];
    let draw = |out: &str| warpline(&[&["gantt", "metal/triple_buffer", "-o", out], &small[..]].concat());
    for (name, magic) in [("x.png", &b"\x89PNG"[..]), ("x.svg", &b"<svg"[..])] {
        let said = draw(&dir.file(name));
        assert_eq!((said.status, said.err.as_str()), (Status::Holds, ""));
        let bytes = fs::read(dir.path().join(name)).unwrap();
        assert!(bytes.windows(magic.len()).take(200).any(|w| w == magic), "{name}");
    }
    let trace = dir.file("x.json");
    let said = warpline(&[&["trace", "metal/triple_buffer", "-o", &trace], &small[..]].concat());
    assert_eq!(said.status, Status::Holds, "{}", said.err);
    let events: serde_json::Value = serde_json::from_slice(&fs::read(&trace).unwrap()).unwrap();
    assert!(events["traceEvents"].as_array().is_some_and(|e| e.len() > 10));

    // What was saved is shown like the run, and saved again the same.
    let again = dir.file("again.json");
    assert_eq!(warpline(&["trace", &trace, "-o", &again]).status, Status::Holds);
    assert_eq!(fs::read(&trace).unwrap(), fs::read(&again).unwrap());
    fs::remove_file(&again).unwrap();
    let frame = |subject: &[&str]| warpline(&[&["view"], subject, &["--dump", "100x30", "--from", "0"]].concat());
    let run = frame(&[&["metal/triple_buffer"], &small[..]].concat());
    assert_eq!((run.status, &run.out), (Status::Holds, &frame(&[&trace]).out));
    let both = frame(&[&["metal/triple_buffer", "--with", &trace], &small[..]].concat());
    assert!(both.out.contains("A: triple_buffer  B: triple_buffer"), "{}", both.out);
    for (name, magic) in [("x.pftrace", &b"\x0a"[..]), ("x.kanata", &b"Kanata\t0004\n"[..])] {
        let said = warpline(&["trace", &trace, "-o", &dir.file(name)]);
        assert_eq!((said.status, said.err.as_str()), (Status::Holds, ""));
        assert!(fs::read(dir.path().join(name)).unwrap().starts_with(magic), "{name}");
    }
    for (args, why) in [
        (vec!["trace", &trace, "-o", "x.bin"], "end the name in .pftrace, .json or .kanata"),
        (vec!["view", &trace, "--set", "m=1"], "--set can change nothing"),
        (vec!["view", "metal/triple_buffer", "--with", &trace, "--with-set", "m=1"], "--with-set can change nothing"),
        (vec!["gantt", "nothing.json", "-o", "x.png"], "cannot read `nothing.json`"),
    ] {
        let said = warpline(&args);
        let words = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.status == Status::BadInput && words.contains(why), "{args:?}: {words}");
    }

    let jpg = draw(&dir.file("x.jpg"));
    assert_eq!(jpg.status, Status::BadInput);
    assert!(jpg.err.contains(".png or .svg"), "{}", jpg.err);
    let nowhere = draw(&dir.file("none/x.png"));
    assert_eq!(nowhere.status, Status::BadInput);
    assert!(nowhere.err.contains("cannot write") && nowhere.err.contains("there is no folder"), "{}", nowhere.err);
    assert_eq!(dir.names(), ["x.json", "x.kanata", "x.pftrace", "x.png", "x.svg"], "nothing else is left behind");
}

#[test]
fn fmt_checks_then_formats_then_is_content() {
    let dir = TempDir::new();
    let said = warpline(&["new", &dir.file("k")]);
    assert_eq!(said.status, Status::Holds);
    let kernel = dir.file("k.pipe");
    let untidy = fs::read_to_string(&kernel).unwrap().replace("stages = 2)", "stages=2 )");
    fs::write(&kernel, &untidy).unwrap();
    let folder = dir.path().display().to_string();
    let check = warpline(&["fmt", "--check", &folder]);
    assert_eq!(check.status, Status::Violated);
    assert!(check.out.contains("k.pipe is not formatted"), "{}", check.out);
    assert_eq!(fs::read_to_string(&kernel).unwrap(), untidy, "--check changes nothing");
    assert_eq!(warpline(&["fmt", &folder]).status, Status::Holds);
    assert_eq!(warpline(&["fmt", "--check", &folder]).status, Status::Holds);
    // A file that is no kernel keeps every file as it is.
    dir.write("bad.pipe", "kernel\n");
    fs::write(&kernel, &untidy).unwrap();
    refuses(&["fmt", &folder], &["bad.pipe:1:"]);
    assert_eq!(fs::read_to_string(&kernel).unwrap(), untidy);
}

#[test]
fn a_hang_is_status_1_with_its_diagnosis() {
    let dir = TempDir::new();
    let kernel = dir.write(
        "stuck.pipe",
        "kernel stuck()\n  warps 2\n  grid 1\n  mbar full(2)\n  all:\n    warp 0: elect: init full; fence mbarrier_init\n    \
         barrier\n    warp 0: elect: arrive full\n    warp 1: wait full for 0\n",
    );
    let said = warpline(&["run", &kernel, "--machine", "h200"]);
    assert_eq!(said.status, Status::Violated, "{}{}", said.out, said.err);
    for part in ["HANGS", "stuck.pipe:9", "full", "needs:"] {
        assert!(said.out.contains(part), "`{part}` is missing in\n{}", said.out);
    }
}

#[test]
fn the_kernels_of_this_repository_are_formatted() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let families = fs::read_dir(root.join("scenarios")).unwrap().map(|entry| entry.unwrap().path());
    // The kernels of `scenarios/tests` are malformed on purpose.
    let families = families.filter(|path| path.is_dir() && !path.ends_with("tests"));
    let folders = families.chain([root.join("src/commands"), root.join("examples/kernels")]);
    let folders: Vec<String> = folders.map(|path| path.display().to_string()).collect();
    let args: Vec<&str> = ["fmt", "--check"].into_iter().chain(folders.iter().map(String::as_str)).collect();
    let said = warpline(&args);
    assert_eq!(said.status, Status::Holds, "{}{}", said.out, said.err);
}

/// A kernel whose parameters have no defaults is mostly run by the scenario beside it.
#[test]
fn a_kernel_without_values_names_the_scenario_beside_it() {
    let dir = TempDir::new();
    let kernel = dir.write("k.pipe", "kernel k(n)\n  warps w = 0..1\n\n  role w:\n    barrier\n");
    let said = |kernel: &str| warpline(&["verify", kernel]).err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said(&kernel).contains("`--set n=VALUE`") && !said(&kernel).contains("beside it"), "{}", said(&kernel));
    let scenario = dir.write("k.toml", "");
    assert!(said(&kernel).contains("is a scenario beside it"), "{scenario}: {}", said(&kernel));
}
