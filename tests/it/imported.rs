//! What commands say of a compiled kernel. `import/tests` has the verdicts on recorded kernels.

use warpline::Status;
use warpline_tests::{TempDir, warpline};

/// A barrier under a condition over the launch.
const KERNEL: &str = "\
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

/// `verify` decides both outcomes of the condition. `barriers` would look at one of them, and the times would be of none.
#[test]
fn commands_that_cannot_answer_for_a_compiled_kernel_say_so() {
    let dir = TempDir::new();
    let file = dir.write("k.ptx", KERNEL);
    let verified = warpline(&["verify", &file]);
    assert_eq!(verified.status, Status::Holds, "{}{}", verified.out, verified.err);
    for (command, why) in [("barriers", "conditions over the launch"), ("run", "not timed yet")] {
        let said = warpline(&[command, &file]);
        assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""), "{command}");
        assert!(said.err.contains(why), "{command}: {}", said.err);
    }
}
