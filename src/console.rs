//! The two streams of a command, and the few colours that may appear on them.

use std::io::{ErrorKind, Write};

use crate::failure::Failure;

/// Which of the streams may carry colour and progress. A terminal, and no `NO_COLOR`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Colour on the output.
    pub colour: bool,
    /// Colour on the error stream.
    pub colour_err: bool,
    /// A progress line on the error stream.
    pub progress: bool,
    /// Input and output are a terminal that a full-screen display may take.
    pub interactive: bool,
}

impl Look {
    pub(crate) fn colour_of(self, err: bool) -> bool {
        if err { self.colour_err } else { self.colour }
    }
}

/// Where a command writes.
pub(crate) struct Console<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    pub(crate) look: Look,
}

impl<'a> Console<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, err: &'a mut dyn Write, look: Look) -> Console<'a> {
        Console { out, err, look }
    }

    /// Writes to the output.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.print_bytes(text.as_bytes())
    }

    /// Writes to the output. A reader that has gone away (`| head`) has read what it wanted: no error.
    pub(crate) fn print_bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self.out.write_all(bytes).and_then(|()| self.out.flush()) {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::new(format!("cannot write to the standard output: {e}")))
            }
            _ => Ok(()),
        }
    }

    /// Writes to the error stream.
    pub(crate) fn error(&mut self, text: &str) -> Result<(), Failure> {
        match self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush()) {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::new(format!("cannot write to the error stream: {e}")))
            }
            _ => Ok(()),
        }
    }

    /// The pen for the output.
    pub(crate) fn paint(&self) -> Paint {
        Paint { colour: self.look.colour }
    }
}

/// A pen. Colour only repeats what the words say: red is a fault, bold a heading, faint a remark.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) colour: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    pub(crate) fn head(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.with("1;31", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer that fails in one way.
    struct Fails(ErrorKind);

    impl Write for Fails {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_broken_pipe_is_quiet_and_a_full_disk_is_not() {
        let mut err = Vec::new();
        let mut gone = Fails(ErrorKind::BrokenPipe);
        assert!(Console::new(&mut gone, &mut err, Look::default()).print("x").is_ok());
        let mut full = Fails(ErrorKind::StorageFull);
        assert!(Console::new(&mut full, &mut err, Look::default()).print("x").is_err());
    }
}
