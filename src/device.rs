//! The devices that commands can name.

use warpline_calibrate::{Cuda, Device, DeviceError, Listener, Recorded};

use crate::console::Console;
use crate::failure::Failure;
use crate::progress::Progress;

/// Opens a device by its name.
pub(crate) fn open(name: &str) -> Result<Box<dyn Device>, Failure> {
    if name == "recorded" {
        return Ok(Box::new(Recorded));
    }
    if let Some(index) = name.strip_prefix("cuda:").and_then(|n| n.parse().ok()) {
        let folder = std::env::temp_dir().join(format!("warpline-{}", std::process::id()));
        return Ok(Box::new(Cuda::open(index, folder).map_err(refused)?));
    }
    Err(Failure::with_help(
        format!("there is no device `{name}`"),
        "`cuda:0` is the first CUDA device of this machine, `recorded` what was measured on one H200; there are no drivers for \
         Metal and HIP yet",
    ))
}

/// What a device said instead of an answer.
pub(crate) fn refused(e: DeviceError) -> Failure {
    match e.help() {
        Some(help) => Failure::with_help(e.to_string(), help),
        None => Failure::new(e.to_string()),
    }
}

/// A device's work as a bar.
pub(crate) struct Bar(Progress);

impl Bar {
    pub(crate) fn start(console: &Console, device: &dyn Device) -> Bar {
        Bar(Progress::of(console.look.progress, 0, device.name()))
    }
}

impl Listener for Bar {
    fn more(&self, pieces: usize) {
        self.0.more(pieces);
    }
    fn done(&self) {
        self.0.step();
    }
}
