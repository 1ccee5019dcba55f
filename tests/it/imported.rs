//! What commands say of a compiled kernel. `import/tests` has the verdicts on recorded kernels.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use warpline::Status;
use warpline_tests::{TempDir, warpline};

/// A barrier under a condition over the launch.
pub(crate) const KERNEL: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 k_param_0)
.reqntid 64
{
	.reg .pred %p<2>;
	.reg .b32 %r<2>;
	ld.param.u32 %r1, [k_param_0];
	setp.eq.s32 %p1, %r1, 7;
	@%p1 bra $L1;
	bar.sync 0;
$L1:
	ret;
}
";

/// `verify` decides both outcomes of the condition. `barriers` would look at one of them, and a run has one only.
#[test]
fn commands_that_cannot_answer_for_a_compiled_kernel_say_so() {
    let dir = TempDir::new();
    let file = dir.write("k.ptx", KERNEL);
    let verified = warpline(&["verify", &file]);
    assert_eq!(verified.status, Status::Holds, "{}{}", verified.out, verified.err);
    for (command, why) in [("barriers", "conditions over the launch"), ("run", "--arg 0=VALUE")] {
        let said = warpline(&[command, &file]);
        assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""), "{command}");
        assert!(said.err.contains(why), "{command}: {}", said.err);
    }
}

/// The proof of a compiled kernel has no certificate, and the note says why.
#[test]
fn a_compiled_kernel_has_no_certificate() {
    let dir = TempDir::new();
    let (file, out) = (dir.write("k.ptx", KERNEL), dir.file("c.json"));
    let said = warpline(&["verify", &file, "--quiet", "--certificate", &out]);
    assert_eq!((said.status, Path::new(&out).exists()), (Status::GaveUp, false));
    assert!(said.err.contains("certificates have no form for compiled kernels yet"), "{}", said.err);
}

/// A launch with more shared memory than a machine has is the reason, whatever else the text has.
#[test]
fn a_kernel_that_is_not_read_for_a_launch_that_does_not_fit_says_so() {
    let dir = TempDir::new();
    let file = dir.write("k.ptx", KERNEL.replace("bar.sync 0", "bar.sync 16"));
    for (shared, machine, why) in [
        (300_000, "h100", "a CTA needs 300000 bytes of shared memory; h100 gives one at most 232448"),
        (200_000, "a100", "a CTA needs 200000 bytes of shared memory; a100 gives one at most 166912"),
        (200_000, "h100", "barrier 16 does not exist"),
    ] {
        let launch = dir.write("l.json", format!("{{\"shared\": {shared}}}"));
        let said = warpline(&["verify", &file, "--machine", machine, "--launch", &launch]);
        let words = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.status, Status::BadInput, "{}", said.out);
        assert!(words.contains(why), "{words}");
    }
}

/// What was understood ends with what a launch needs; an instruction is not read without a modifier that it misspells.
#[test]
fn an_explanation_names_the_next_command_and_a_misspelled_modifier_is_an_error() {
    let dir = TempDir::new();
    let file = dir.write("k.ptx", KERNEL);
    let said = warpline(&["import", "--explain", &file]);
    assert_eq!(said.status, Status::Holds, "{}", said.err);
    let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["k of ", "2 warps", "cond_11: arg0 == 7 (both outcomes are tried)", "0: u32", "--grid XxYxZ --arg 0=VALUE"]
    {
        assert!(words.contains(part), "`{part}` is missing in {}", said.out);
    }
    let file = dir.write("misspelled.ptx", KERNEL.replace("bar.sync", "bar.snyc"));
    let said = warpline(&["verify", &file]);
    assert_eq!(said.status, Status::BadInput, "{}", said.out);
    assert!(
        said.err.contains("`bar.snyc` has the modifier `snyc`") && said.err.contains("expected `sync`"),
        "{}",
        said.err
    );
}

/// A wait that counts its polls in global memory, for a barrier at which nobody arrives.
const LATE: &str = "\
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 .ptr .global k_param_0)
.reqntid 32
{
	.reg .pred %p<3>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<2>;
	.shared .align 8 .b64 bar;
	ld.param.u64 %rd1, [k_param_0];
	mov.u32 %r1, %tid.x;
	setp.ne.s32 %p1, %r1, 0;
	mov.b32 %r2, bar;
	@%p1 bra $L1;
	mbarrier.init.shared.b64 [%r2], 1;
$L1:
	bar.sync 0;
	mov.b32 %r3, 0;
$L2:
	mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;
	@%p2 bra $L3;
	add.s32 %r3, %r3, 1;
	st.global.b32 [%rd1], %r3;
	bra.uni $L2;
$L3:
	ret;
}
";

/// What a wait does while it polls is either nothing that is followed, or an error: the wait itself is never lost.
#[test]
fn a_wait_that_does_something_else_stays_a_wait() {
    let dir = TempDir::new();
    let hangs = warpline(&["verify", &dir.write("hangs.ptx", LATE)]);
    assert_eq!(hangs.status, Status::Violated, "{}{}", hangs.out, hangs.err);
    assert!(hangs.out.contains("deadlock           violated"), "{}", hangs.out);
    let arrives =
        LATE.replace("\tmov.b32 %r3, 0;\n", "\tmov.b32 %r3, 0;\n\t@!%p1 mbarrier.arrive.shared.b64 _, [%r2];\n");
    let holds = warpline(&["verify", &dir.write("holds.ptx", arrives)]);
    assert_eq!(holds.status, Status::Holds, "{}{}", holds.out, holds.err);
    let meets = LATE.replace("st.global.b32 [%rd1], %r3", "bar.sync 1");
    let said = warpline(&["verify", &dir.write("meets.ptx", meets)]);
    assert_eq!(said.status, Status::BadInput, "{}", said.out);
    assert!(said.err.contains("does something else too"), "{}", said.err);
}

/// A CTA has sixteen barriers.
#[test]
fn a_barrier_beyond_the_last_is_bad_input() {
    let dir = TempDir::new();
    let said = warpline(&["verify", &dir.write("k.ptx", KERNEL.replace("bar.sync 0", "bar.sync 16"))]);
    assert_eq!(said.status, Status::BadInput, "{}", said.out);
    assert!(said.err.contains("barrier 16 does not exist"), "{}", said.err);
}

/// A compressed file is read as the text in it; one that is damaged is bad input.
#[test]
fn compressed_kernels_are_read() {
    let recorded = std::fs::read(oracle("tilelang.gemm_ns3_sm80.ptx.gz")).expect("a recorded kernel");
    let dir = TempDir::new();
    let file = dir.write("k.ptx.gz", &recorded);
    let verified = warpline(&["verify", &file]);
    assert_eq!(verified.status, Status::Holds, "{}{}", verified.out, verified.err);
    let named = warpline(&["verify", &format!("{file}:f_kernel")]);
    let verdict = |out: &str| out.lines().find(|l| l.starts_with("PROVED")).map(str::to_string);
    assert_eq!((verdict(&named.out), verdict(&named.out).is_some()), (verdict(&verified.out), true));
    let cut = dir.write("cut.ptx.gz", &recorded[..recorded.len() / 2]);
    let said = warpline(&["verify", &cut]);
    assert_eq!(said.status, Status::BadInput, "{}", said.out);
    assert!(said.err.contains("cut.ptx.gz"), "{}", said.err);
}

/// A file of `oracles/ptx`.
fn oracle(name: &str) -> String {
    format!("{}/../oracles/ptx/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Two CTAs of a cluster: each arrives on the other's barrier and waits for its own.
const PAIR: &str = "\
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k()
.reqntid 32
{
	.reg .pred %p<3>;
	.reg .b32 %r<8>;
	.shared .align 8 .b64 bar;
	mov.u32 %r1, %tid.x;
	setp.ne.s32 %p1, %r1, 0;
	mov.b32 %r2, bar;
	@%p1 bra $L1;
	mbarrier.init.shared.b64 [%r2], 1;
$L1:
	fence.mbarrier_init.release.cluster;
	barrier.cluster.arrive;
	barrier.cluster.wait;
	@%p1 bra $L2;
	mov.u32 %r3, %cluster_ctarank;
	xor.b32 %r4, %r3, 1;
	mapa.shared::cluster.u32 %r5, %r2, %r4;
	mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
$L2:
$L3:
	mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;
	@!%p2 bra $L3;
	ret;
}
";

/// The size of a cluster is an option; without its other CTA nobody arrives.
#[test]
fn a_cluster_that_the_text_does_not_give_is_an_option() {
    let dir = TempDir::new();
    let file = dir.write("k.ptx", PAIR);
    let verified = warpline(&["verify", &file, "--cluster", "2x1"]);
    assert_eq!(verified.status, Status::Holds, "{}{}", verified.out, verified.err);
    // The CTA that is not there is never reached.
    let alone = warpline(&["verify", &file]);
    assert_ne!(alone.status, Status::Holds, "{}", alone.out);
    // Without the arrivals both hang.
    let text = PAIR.replace("\tmbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];\n", "");
    let file = dir.write("hang.ptx", &text);
    let hangs = warpline(&["verify", &file, "--cluster", "2x1"]);
    assert_eq!(hangs.status, Status::Violated, "{}{}", hangs.out, hangs.err);
}

/// A target without a suffix runs on later GPUs. A kernel with more shared memory than the target's GPU has is one for those.
#[test]
fn a_kernel_that_needs_a_later_gpu_is_verified_for_it() {
    let dir = TempDir::new();
    let text = |kib: u32| {
        let row = |n: u32| format!("\tst.shared.v4.b32 [%r3+{}], {{%r1, %r1, %r1, %r1}};\n", 1024 * n);
        let rows: String = (0..kib).map(row).collect();
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n.reqntid 64\n{{\n\t.reg .b32 %r<4>;\n\
             \t.shared .align 16 .b8 tile[{}];\n\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, tile;\n\tshl.b32 %r3, %r1, 4;\n\
             \tadd.s32 %r3, %r2, %r3;\n{rows}\tret;\n}}\n",
            1024 * kib
        )
    };
    for (kib, machine) in [(8, "a100"), (200, "h200")] {
        let file = dir.write("k.ptx", text(kib));
        let verified = warpline(&["verify", &file]);
        assert!(verified.out.contains(&format!("Machine        {machine}")), "{}{}", verified.out, verified.err);
    }
    let refused = warpline(&["verify", &dir.write("k.ptx", text(200)), "--machine", "a100"]);
    assert!(refused.err.contains("bytes of shared memory"), "{}{}", refused.out, refused.err);
    // An instruction that the target's GPU lacks, from inline assembly.
    let file = dir.write("k.ptx", text(8).replace("\tret;", "\tgriddepcontrol.wait;\n\tret;"));
    let verified = warpline(&["verify", &file]);
    let assumed = "the text is for a later target than sm_80: `grid.wait` needs sm_90";
    let said = verified.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Machine h200") && said.contains(assumed), "{said}");
    let refused = warpline(&["verify", &file, "--machine", "a100"]);
    assert!(refused.err.contains("`grid.wait` needs sm_90"), "{}{}", refused.out, refused.err);
}

/// A size of zero is rarely launched. Where a fault with iterations stands beside one without any, it is the one that is shown.
#[test]
fn a_fault_is_shown_with_iterations() {
    let dir = TempDir::new();
    let text = |body: &str| {
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 k_param_0)\n.reqntid 64\n{{\n\
             \t.reg .pred %p<4>;\n\t.reg .b32 %r<16>;\n\t.shared .align 16 .b8 tile[256];\n\tld.param.u32 %r1, [k_param_0];\n\
             \tmov.u32 %r2, %tid.x;\n\tmov.b32 %r3, tile;\n\tshl.b32 %r4, %r2, 2;\n\tadd.s32 %r5, %r3, %r4;\n\
             \txor.b32 %r6, %r4, 128;\n\tadd.s32 %r6, %r3, %r6;\n\tst.shared.b32 [%r5], %r2;\n\tmov.b32 %r7, 0;\n\
             \tsetp.lt.s32 %p1, %r1, 1;\n\t@%p1 bra $L2;\n$L1:\n{body}\tadd.s32 %r7, %r7, 1;\n\tsetp.lt.s32 %p2, %r7, %r1;\n\
             \t@%p2 bra $L1;\n$L2:\n\tld.shared.b32 %r8, [%r6];\n\tret;\n}}\n"
        )
    };
    let verified = |body: &str| warpline(&["verify", &dir.write("k.ptx", text(body))]).out;
    let none = verified("\tbar.sync 0;\n");
    assert!(none.contains("fault at 0 steps"), "{none}");
    let some = verified("\tbar.sync 0;\n\tst.shared.b32 [%r5], %r7;\n");
    assert!(some.contains("VIOLATED") && some.contains("arg0 = 1"), "{some}");
}

/// A `.pipe` file that `import` writes loads and has the verdict of the PTX. What the language lacks is a reason to write none.
#[test]
fn text_that_is_written_as_a_kernel_loads_again() {
    let dir = TempDir::new();
    let file = dir.write("k.ptx", KERNEL);
    let out = dir.path().join("out.pipe").display().to_string();
    let said = warpline(&["import", &file, "-o", &out]);
    assert_eq!(said.status, Status::Holds, "{}{}", said.out, said.err);
    let verified = warpline(&["verify", &out, "--machine", "a100"]);
    assert_eq!(verified.status, Status::Holds, "{}{}", verified.out, verified.err);
    let accesses = KERNEL.replace("\tbar.sync 0;\n", "\tst.shared.b32 [tile], %r1;\n\tbar.sync 0;\n");
    let accesses = accesses.replace("\t.reg .pred", "\t.shared .align 4 .b8 tile[4];\n\t.reg .pred");
    let file = dir.write("bytes.ptx", accesses);
    let out = dir.path().join("bytes.pipe");
    let said = warpline(&["import", &file, "-o", &out.display().to_string()]);
    assert_eq!(said.status, Status::BadInput, "{}", said.out);
    assert!(said.err.contains("set of bytes") && said.err.contains("line 13"), "{}", said.err);
    assert!(!out.exists());
    let read = warpline(&["import", &file, "-o", &dir.path().join("bytes.txt").display().to_string()]);
    assert_eq!(read.status, Status::Holds, "{}", read.err);
}

/// The second warp leaves a barrier, and the first one waits at it for the states of its arrivals.
const STATES: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 k_param_0)
.reqntid 64
{
	.reg .pred %p<6>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<2>;
	.shared .align 8 .b8 bar[8];
	ld.param.u32 %r1, [k_param_0];
	mov.u32 %r2, %tid.x;
	mov.b32 %r3, bar;
	setp.ne.s32 %p1, %r2, 0;
	@%p1 bra $L1;
	mbarrier.init.shared.b64 [%r3], 64;
$L1:
	bar.sync 0;
	setp.lt.s32 %p2, %r2, 32;
	@%p2 bra $L2;
	mbarrier.arrive_drop.shared::cta.b64 _, [%r3];
	ret;
$L2:
	mov.b32 %r4, 0;
	setp.lt.s32 %p3, %r1, 1;
	@%p3 bra $L5;
$L3:
	mbarrier.arrive.shared::cta.b64 %rd1, [%r3];
$L4:
	mbarrier.try_wait.shared::cta.b64 %p4, [%r3], %rd1;
	@!%p4 bra $L4;
	add.s32 %r4, %r4, 1;
	setp.lt.s32 %p5, %r4, %r1;
	@%p5 bra $L3;
$L5:
	ret;
}
";

#[test]
fn states_and_dropped_arrivals_are_written_and_read_again() {
    let dir = TempDir::new();
    let faulty = STATES.replace("arrive_drop", "arrive");
    for (name, text, status) in [("right", STATES, Status::Holds), ("faulty", &faulty, Status::Violated)] {
        let file = dir.write(&format!("{name}.ptx"), text);
        let verified = warpline(&["verify", &file]);
        assert_eq!(verified.status, status, "{}{}", verified.out, verified.err);
        let out = dir.path().join(format!("{name}.pipe"));
        let written = warpline(&["import", &file, "-o", &out.display().to_string()]);
        assert_eq!(written.status, Status::Holds, "{}{}", written.out, written.err);
        let kernel = std::fs::read_to_string(&out).expect("a kernel");
        assert!(kernel.contains("state 0") && kernel.contains("drop") == (name == "right"), "{kernel}");
        let again = warpline(&["verify", &out.display().to_string(), "--machine", "h200"]);
        assert_eq!(again.status, status, "{}{}", again.out, again.err);
    }
}

/// A recorded kernel whose text does not say how many threads a block has.
fn without_bound(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../oracles/ptx").join(format!("{name}.ptx.gz"));
    let mut text = String::new();
    GzDecoder::new(File::open(file).unwrap()).read_to_string(&mut text).unwrap();
    assert!(text.contains(".maxntid"));
    text.lines().filter(|l| !l.starts_with(".maxntid")).map(|l| format!("{l}\n")).collect()
}

/// Fewer threads leave bytes unwritten, and more write the same bytes.
#[test]
fn the_size_of_a_block_is_the_one_that_is_proved() {
    let dir = TempDir::new();
    for (name, threads) in [("emit.correct-sm80_multistage", 128), ("emit.ampere-smem_double_buffer", 256)] {
        let text = without_bound(name);
        let file = dir.write("k.ptx", &text);
        let said = warpline(&["verify", &file, "--no-suggestion"]);
        assert!(said.out.contains("PROVED"), "{name}: {}{}", said.out, said.err);
        assert!(said.out.contains(&format!("a block has {threads} threads, as the text does not say")), "{}", said.out);
        // Without its waits the kernel has one race with every size.
        let faulty = dir.write("f.ptx", text.replace("cp.async.wait_group", "cp.async.wait_group 7; //"));
        let said = warpline(&["verify", &faulty, "--no-suggestion"]);
        let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.status, Status::Violated, "{}{}", said.out, said.err);
        assert!(words.contains("blocks of 32, 64, 256, 512 and 1024 have a fault at the same lines"), "{words}");
    }
}

/// Each row of threads copies a row of data, and all threads read four rows.
const ROWS: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
	.reg .b32 %r<12>;
	.reg .b64 %rd<2>;
	.shared .align 16 .b8 data[2048];
	ld.param.u64 %rd1, [k_param_0];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %tid.y;
	shl.b32 %r3, %r2, 5;
	add.s32 %r4, %r3, %r1;
	mov.b32 %r5, data;
	shl.b32 %r6, %r4, 4;
	add.s32 %r7, %r5, %r6;
	cp.async.cg.shared.global [%r7], [%rd1], 16;
	cp.async.commit_group;
	cp.async.wait_group 0;
	bar.sync 0;
	shl.b32 %r8, %r1, 4;
	add.s32 %r9, %r5, %r8;
	ld.shared.b32 %r10, [%r9];
	ld.shared.b32 %r10, [%r9+512];
	ld.shared.b32 %r10, [%r9+1024];
	ld.shared.b32 %r10, [%r9+1536];
	ret;
}
";

/// The number of a thread in its block says how long a row is. Fewer rows leave bytes unwritten.
#[test]
fn the_shape_of_a_block_follows_from_the_numbers_of_its_threads() {
    let dir = TempDir::new();
    let said = warpline(&["verify", &dir.write("k.ptx", ROWS)]);
    assert_eq!(said.status, Status::Holds, "{}{}", said.out, said.err);
    assert!(said.out.contains("a block has 128 threads (32x4), as the text does not say"), "{}", said.out);
    // A fault with every size may be one of a wrong shape.
    let said = warpline(&["verify", &dir.write("f.ptx", ROWS.replace("	bar.sync 0;\n", ""))]);
    assert_eq!(said.status, Status::BadInput, "{}", said.out);
    assert!(said.err.contains("how many threads"), "{}", said.err);
}
