//! Compiled kernels with the values of a launch: which commands take them, and what is said where a value is missing.

use warpline::Status;
use warpline_tests::{TempDir, cycles_of, warpline};

/// A loop of copies into one tile, as often as parameter 1 says.
const COPIES: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry copies(.param .u64 copies_param_0, .param .u32 copies_param_1, .param .f32 copies_param_2)
.reqntid 32
{
	.reg .pred %p<3>;
	.reg .b32 %r<12>;
	.reg .b64 %rd<4>;
	.shared .align 16 .b8 tile[512];
	ld.param.u64 %rd1, [copies_param_0];
	ld.param.u32 %r1, [copies_param_1];
	mov.u32 %r2, %tid.x;
	shl.b32 %r3, %r2, 4;
	mov.u32 %r4, tile;
	add.s32 %r5, %r4, %r3;
	mov.u32 %r6, 0;
	setp.lt.s32 %p1, %r1, 1;
	@%p1 bra $L2;
$L1:
	.loc 1 7 4
	cp.async.cg.shared.global [%r5], [%rd1], 16;
	cp.async.commit_group;
	cp.async.wait_group 0;
	bar.sync 0;
	ld.shared.b32 %r7, [%r5];
	bar.sync 0;
	add.s32 %r6, %r6, 1;
	setp.lt.s32 %p2, %r6, %r1;
	@%p2 bra $L1;
$L2:
	ret;
}
.file 1 \"copies.py\"
";

/// The line of `cp.async.wait_group` in `COPIES`.
const WAIT: &str = "k.ptx:24";

const LAUNCH: &str =
    r#"{"grid": [4, 2, 1], "args": [{"ptr": [512], "dtype": "float16"}, 8, 0.5], "shared": 0, "regs": 32}"#;

fn cycles(out: &str) -> f64 {
    let line = out.lines().find(|l| l.starts_with("Time")).unwrap_or_else(|| panic!("no time: {out}"));
    let number = line.split_whitespace().nth(1).expect("a number");
    number.replace(',', "").parse().expect("cycles")
}

/// `run` asks for what it lacks by name, and `verify` lacks nothing.
#[test]
fn a_value_that_a_run_lacks_is_asked_for_by_name() {
    let dir = TempDir::new();
    let file = dir.write("k.ptx", COPIES);
    let proved = warpline(&["verify", &file]);
    assert_eq!(proved.status, Status::Holds, "{}{}", proved.out, proved.err);
    let said = warpline(&["run", &file]);
    assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""));
    for words in ["parameter 1", "copies_param_1", "--arg 1=VALUE", "--grid", "--launch"] {
        assert!(said.err.contains(words), "`{words}`: {}", said.err);
    }
    // A pointer and a scale that decide nothing are not asked for.
    assert!(!said.err.contains("param_0") && !said.err.contains("param_2"), "{}", said.err);
    let said = warpline(&["run", &file, "--arg", "1=8"]);
    assert_eq!(said.status, Status::BadInput, "{}", said.out);
    assert!(said.err.contains("--grid") && !said.err.contains("--arg"), "{}", said.err);
}

/// The short form and the file are one launch. The output says which machine it is, and what is not known.
#[test]
fn a_launch_is_a_file_or_options() {
    let dir = TempDir::new();
    let (file, launch) = (dir.write("k.ptx", COPIES), dir.write("l.json", LAUNCH));
    let by_file = warpline(&["run", &file, "--launch", &launch]);
    assert_eq!(by_file.status, Status::Holds, "{}{}", by_file.out, by_file.err);
    for words in ["a100", "sm_80", "Races are not looked for", "8 CTAs", "arg1=8"] {
        assert!(by_file.out.contains(words), "`{words}`: {}", by_file.out);
    }
    let by_options = warpline(&["run", &file, "--grid", "4x2", "--arg", "1=8"]);
    // Options give no array, so a copy then reads an unknown place, and what DRAM moves is not known.
    let unknown = |out: &str| out.matches("not known: the launch gives no array").count();
    assert_eq!((unknown(&by_options.out), unknown(&by_file.out)), (2, 0), "{}", by_options.out);
    let without = dir.write("n.json", LAUNCH.replace(r#"{"ptr": [512], "dtype": "float16"}"#, "null"));
    let by_other_file = warpline(&["run", &file, "--launch", &without]);
    assert_eq!(cycles(&by_options.out), cycles(&by_other_file.out));
    // An option stands above the file.
    let longer = warpline(&["run", &file, "--launch", &launch, "--arg", "1=16"]);
    assert!(cycles(&longer.out) > cycles(&by_file.out), "{}", longer.out);
    // Where the text does not say how many threads a block has, the file does.
    let open = dir.write("open.ptx", COPIES.replace(".reqntid 32\n", ""));
    let sized = dir.write("b.json", LAUNCH.replace(r#""grid""#, r#""block": [32], "grid""#));
    let by_block = warpline(&["run", &open, "--launch", &sized]);
    assert_eq!(cycles(&by_block.out), cycles(&by_file.out), "{}", by_block.err);
    let other = warpline(&["run", &file, "--launch", &launch, "--machine", "h200"]);
    assert!(other.out.contains("h200") && other.out.contains("--machine"), "{}", other.out);
}

/// An access whose place memory gives is taken to hit L2, and the note says where it is.
#[test]
fn places_that_memory_gives_are_named() {
    let dir = TempDir::new();
    let launch = dir.write("l.json", LAUNCH);
    let told = "a place that is not known";
    let known = warpline(&["run", &dir.write("k.ptx", COPIES), "--launch", &launch]);
    assert!(!known.out.replace("\n", " ").contains(told), "{}", known.out);
    let by_memory = COPIES.replace(
        "	mov.u32 %r6, 0;\n",
        "	ld.global.u32 %r8, [%rd1];\n	mul.wide.u32 %rd2, %r8, 16;\n	add.s64 %rd1, %rd1, %rd2;\n	mov.u32 %r6, 0;\n",
    );
    let said = warpline(&["run", &dir.write("m.ptx", by_memory), "--launch", &launch]);
    let words: Vec<&str> = said.out.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains(told) && text.contains("(line 25)"), "{}{}", said.out, said.err);
}

/// What a kernel stores has no name. The array has one.
#[test]
fn a_store_is_drawn_with_the_name_of_its_array() {
    let dir = TempDir::new();
    let stores = COPIES.replace("	ld.shared.b32 %r7, [%r5];\n", "	st.global.b32 [%rd1], %r2;\n");
    let (file, launch, trace) = (dir.write("k.ptx", stores), dir.write("l.json", LAUNCH), dir.file("t.json"));
    let said = warpline(&["trace", &file, "--launch", &launch, "-o", &trace]);
    assert_eq!(said.status, Status::Holds, "{}", said.err);
    let text = std::fs::read_to_string(trace).expect("a trace");
    assert!(text.contains("store arg0") && !text.contains("stored("), "{text}");
}

/// Every command that runs a kernel takes a compiled one.
#[test]
fn commands_that_run_kernels_take_compiled_ones() {
    let dir = TempDir::new();
    let (file, launch) = (dir.write("k.ptx", COPIES), dir.write("l.json", LAUNCH));
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (png, trace, page) = (path("k.svg"), path("k.json"), path("k.html"));
    let commands: [&[&str]; 7] = [
        &["gantt", &file, "-o", &png],
        &["trace", &file, "-o", &trace],
        &["report", &file, "-o", &page],
        &["whatif", &file],
        &["compare", &file, &file],
        &["sweep", &file, "--vary", "arg1=2,4"],
        &["view", &file, "--dump", "100x30"],
    ];
    for command in commands {
        let all: Vec<&str> = command.iter().copied().chain(["--launch", &launch]).collect();
        let said = warpline(&all);
        assert_eq!(said.status, Status::Holds, "{command:?}: {}{}", said.out, said.err);
    }
    let trace = std::fs::read_to_string(&trace).expect("a trace");
    assert!(trace.contains(WAIT), "no PTX line in the trace");
    let barriers = warpline(&["barriers", &file, "--launch", &launch]);
    assert_eq!(barriers.status, Status::Holds, "{}{}", barriers.out, barriers.err);
    let checked = warpline(&["check", &file]);
    assert_eq!(checked.status, Status::Holds, "{}{}", checked.out, checked.err);
}

/// Wrong launches are errors, with file, line and caret where a file says them.
#[test]
fn wrong_launches_are_errors() {
    let dir = TempDir::new();
    let file = dir.write("k.ptx", COPIES);
    let wrong = [
        ("{\"grid\": [4]\n \"args\": []}", "l.json:2"),
        (r#"{"grid": [4, 0], "args": [null, 8, 0.5]}"#, "along y"),
        (r#"{"grid": [4, 70000], "args": [null, 8, 0.5]}"#, "65535"),
        (r#"{"grid": [4], "args": [null, 8]}"#, "3 parameters"),
        (r#"{"grid": [4], "args": [null, 4294967296, 0.5]}"#, "out of range"),
        (r#"{"grid": [4], "args": [null, 1.5, 0.5]}"#, "not a whole number"),
        (r#"{"grid": [4], "args": [null, {"ptr": [4], "dtype": "float16"}, 0.5]}"#, "not a pointer"),
        (r#"{"grid": [4], "args": [{"ptr": [4], "dtype": "half"}, 8, 0.5]}"#, "not an element type"),
        (r#"{"grid": [4], "args": [{"box": [4]}, 8, 0.5]}"#, "an argument is"),
        (r#"{"grid": [4], "regs": 300}"#, "300 registers"),
        (r#"{"grid": [4], "blocks": 1}"#, "blocks"),
        (r#"{"grid": [4], "block": [2048]}"#, "from 1 to 1024"),
    ];
    for (text, why) in wrong {
        let launch = dir.write("l.json", text);
        let said = warpline(&["run", &file, "--launch", &launch]);
        assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""), "{text}");
        assert!(said.err.contains(why) && said.err.contains("l.json:"), "{text}: {}", said.err);
    }
    for (option, value) in [("--grid", "0"), ("--grid", "4x"), ("--arg", "7=1"), ("--arg", "1"), ("--arg", "1=1.5")] {
        let said = warpline(&["run", &file, "--grid", "4", option, value]);
        assert_eq!(said.status, Status::BadInput, "{option} {value}: {}", said.out);
    }
    let said = warpline(&["run", &file, "--grid", "3", "--arg", "1=8", "--cluster", "2"]);
    assert!(said.status == Status::BadInput && said.err.contains("is not a multiple of the cluster"), "{}", said.err);
}

/// A parameter can be a structure: its values have places, in options, in a file and in a sweep.
#[test]
fn values_of_a_structure_have_places() {
    let dir = TempDir::new();
    let text = COPIES.replace(".param .u32 copies_param_1", ".param .align 4 .b8 copies_param_1[12]");
    let file = dir.write("k.ptx", text.replace("[copies_param_1]", "[copies_param_1+8]"));
    let said = warpline(&["run", &file, "--grid", "4x2"]);
    assert!(said.err.contains("at byte 8") && said.err.contains("--arg 1+8=VALUE"), "{}", said.err);
    let short = warpline(&["run", &file, "--grid", "4x2", "--arg", "1+8=4"]);
    assert!(short.out.contains("arg1+8=4"), "{}{}", short.out, short.err);
    let structure = |fields: &str| LAUNCH.replace(", 8, 0.5", &format!(r#", {{"fields": {fields}}}, 0.5"#));
    let launch = dir.write("l.json", structure(r#"{"0": 1, "8": 16}"#));
    let by_file = warpline(&["run", &file, "--launch", &launch]);
    assert!(cycles(&by_file.out) > cycles(&short.out), "{}{}", by_file.out, by_file.err);
    // An option stands above one value of the file.
    let both = warpline(&["run", &file, "--launch", &launch, "--arg", "1+8=4"]);
    assert!(both.out.contains("arg1=1 arg1+8=4") || both.out.contains("arg1+8=4 arg1=1"), "{}{}", both.out, both.err);
    let sweep = warpline(&["sweep", &file, "--launch", &launch, "--vary", "arg1+8=2,4"]);
    assert_eq!(sweep.status, Status::Holds, "{}", sweep.err);
    for (fields, why) in
        [(r#"{"12": 1}"#, "byte 12 is outside"), (r#"{"x": 1}"#, "by the byte"), (r#"{"8": null}"#, "by the byte")]
    {
        let launch = dir.write("wrong.json", structure(fields));
        let said = warpline(&["run", &file, "--launch", &launch]);
        assert!(said.status == Status::BadInput && said.err.contains(why), "{fields}: {}", said.err);
    }
    let whole = warpline(&["run", &file, "--grid", "4x2", "--arg", "1=4"]);
    assert!(whole.status == Status::BadInput && whole.err.contains("1+0=64"), "{}", whole.err);
}

/// Of several kernels `--entry` picks one, also where each has its own launch.
#[test]
fn one_of_several_kernels_is_picked() {
    let dir = TempDir::new();
    let second = COPIES.lines().skip(3).collect::<Vec<_>>().join("\n").replace("copies", "others");
    let file = dir.write("k.ptx", format!("{COPIES}{second}\n"));
    let said = warpline(&["run", &file]);
    assert_eq!(said.status, Status::BadInput, "{}", said.out);
    assert!(said.err.contains("0 `copies`, 1 `others`") && said.err.contains("--entry"), "{}", said.err);
    for (kernel, chosen) in [("copies", "copies"), ("others", "1"), ("others", "ther")] {
        let proved = warpline(&["verify", &file, "--entry", chosen]);
        assert_eq!(proved.status, Status::Holds, "{}{}", proved.out, proved.err);
        let run = warpline(&["run", &file, "--entry", chosen, "--grid", "4", "--arg", "1=8"]);
        assert_eq!(run.status, Status::Holds, "{}{}", run.out, run.err);
        assert!(run.out.contains(&format!("Kernel         {kernel}")), "{}", run.out);
    }
    for (name, why) in [("copys", "no kernel `copys`"), ("e", "several kernels with `e`"), ("2", "no kernel `2`")] {
        let said = warpline(&["run", &file, "--entry", name]);
        assert!(said.status == Status::BadInput && said.err.contains(why), "{}", said.err);
    }
}

/// Products in tensor memory take the time that they have in the kernel which the PTX was compiled from, for one CTA
/// and for pairs.
#[test]
fn products_of_tensor_memory_take_the_time_of_their_kernel() {
    for kernel in ["gemm_1sm_grid", "gemm_2sm"] {
        let name = format!("blackwell/{kernel}");
        let file = format!("{}/../oracles/ptx/emit.blackwell-{kernel}.ptx.gz", env!("CARGO_MANIFEST_DIR"));
        let written = cycles_of(&[&name]);
        let compiled = cycles_of(&[&file, "--grid", "32x16", "--machine", "b200"]);
        // The difference is arithmetic, which the kernel's own text leaves out, and addresses that no launch gives.
        assert!((compiled / written - 1.0).abs() < 0.06, "{kernel}: {compiled} and {written}");
    }
}
