//! The `warpline` program: see the library.

fn main() -> std::process::ExitCode {
    warpline::main()
}
