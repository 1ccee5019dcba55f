//! The two output streams of a command, and their colors.

use std::io::{ErrorKind, Write};

use warpline_api::Error;

/// The features of the output streams. Colors need a terminal and no `NO_COLOR`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Color on the standard output.
    pub color: bool,
    /// Color on the error stream.
    pub color_err: bool,
    /// A progress bar on the error stream.
    pub progress: bool,
    /// Input and output are a terminal, which a full-screen display may take over.
    pub interactive: bool,
}

impl Look {
    pub(crate) fn color_of(self, err: bool) -> bool {
        if err { self.color_err } else { self.color }
    }
}

/// The streams that a command writes to.
pub(crate) struct Console<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    pub(crate) look: Look,
}

impl<'a> Console<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, err: &'a mut dyn Write, look: Look) -> Console<'a> {
        Console { out, err, look }
    }

    /// Writes text to the standard output.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Error> {
        self.print_bytes(text.as_bytes())
    }

    /// Writes bytes to the standard output. A closed pipe (`| head`) is not an error.
    pub(crate) fn print_bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self.out.write_all(bytes).and_then(|()| self.out.flush()) {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => {
                Err(Error::new(format!("cannot write to the standard output: {e}")))
            }
            _ => Ok(()),
        }
    }

    /// Writes to the error stream.
    pub(crate) fn error(&mut self, text: &str) -> Result<(), Error> {
        match self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush()) {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => {
                Err(Error::new(format!("cannot write to the error stream: {e}")))
            }
            _ => Ok(()),
        }
    }

    /// The pen for the standard output.
    pub(crate) fn paint(&self) -> Paint {
        Paint { color: self.look.color }
    }
}

/// A pen: red for faults, bold for headings, faint for remarks. Color only repeats what the words say.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) color: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
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
