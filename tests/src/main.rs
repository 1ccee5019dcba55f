//! The command line, for tests that need a process.

fn main() -> std::process::ExitCode {
    warpline::main()
}
