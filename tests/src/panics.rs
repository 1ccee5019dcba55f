//! Takes the terminal and panics, for the test that looks at what is left.

fn main() -> std::io::Result<()> {
    let _screen = warpline::terminal::Screen::open(false)?;
    panic!("on purpose");
}
