//! Devices that deliver measurements, behind one trait.

use warpline_sim::machine::Vendor;

use crate::accuracy::{self, Timed};
use crate::measure::{BadRow, Measurements};

/// Why a device delivered no measurement.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The device, or what it needs, is missing; the second part says what to do.
    #[error("{0}")]
    Missing(String, String),
    /// The driver refused.
    #[error("the driver of {device} says: {why}")]
    Driver {
        /// Name of the device.
        device: String,
        /// Message of the driver.
        why: String,
    },
    /// A probe did not run to its end.
    #[error("the probe `{probe}` failed: {why}")]
    Probe {
        /// Name of the probe.
        probe: String,
        /// Message of the program.
        why: String,
    },
    /// A kernel was not compiled, or did not run to its end.
    #[error("the kernel `{kernel}` failed: {why}")]
    Kernel {
        /// Name of the kernel.
        kernel: String,
        /// Message of the compiler or program.
        why: String,
    },
    /// A probe printed something other than measurements.
    #[error("the probe `{probe}` is not understood: {why}")]
    Row {
        /// Name of the probe.
        probe: String,
        /// The line that cannot be read.
        why: BadRow,
    },
}

impl DeviceError {
    /// What the user can do about it, if anything.
    pub fn help(&self) -> Option<&str> {
        match self {
            DeviceError::Missing(_, help) => Some(help),
            _ => None,
        }
    }
}

/// What is possible without a device, for the end of a help text.
pub(crate) const RECORDED: &str = "`--device recorded` replays what was measured on an H200";

/// A kernel to be timed.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Name of the case, with its set: `train.`, `test.` or `alone.`.
    pub case: String,
    /// Its source for the device, with the harness; not needed by a device that replays.
    pub source: Option<String>,
    /// The harness, if it is a text of its own (Metal).
    pub harness: Option<String>,
    /// The machine's clock in MHz, for a device that reports none (Metal).
    pub mhz: f64,
}

impl Kernel {
    /// The source of the kernel.
    ///
    /// # Errors
    /// There is none.
    pub fn text(&self) -> Result<&str, DeviceError> {
        self.source.as_deref().ok_or_else(|| self.failed("it came without its text".to_string()))
    }

    /// The error of a kernel that was not compiled, or did not run to its end.
    pub fn failed(&self, why: String) -> DeviceError {
        DeviceError::Kernel { kernel: self.case.clone(), why }
    }
}

/// Receives the progress of a device's work.
pub trait Listener: Sync {
    /// So many more pieces of work are known.
    fn more(&self, pieces: usize);
    /// One piece is done.
    fn done(&self);
}

/// Ignores progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoListener;

impl Listener for NoListener {
    fn more(&self, _: usize) {}
    fn done(&self) {}
}

/// A source of measurements: a device that runs probes and kernels, or a record of one.
pub trait Device {
    /// Name for users.
    fn name(&self) -> String;

    /// Vendor: which machines its numbers apply to, and the language of its kernels.
    fn vendor(&self) -> Vendor;

    /// A reason to doubt the measurements, such as a driver that was never run.
    fn warning(&self) -> Option<&'static str> {
        None
    }

    /// Date of the measurements, if not today.
    fn date(&self) -> Option<&'static str> {
        None
    }

    /// Whether kernels need a source.
    fn needs_source(&self) -> bool {
        true
    }

    /// Runs all probes.
    ///
    /// # Errors
    /// No device, or a failing probe.
    fn probes(&self, listener: &dyn Listener) -> Result<Measurements, DeviceError>;

    /// Times kernels, each with cold caches.
    ///
    /// # Errors
    /// No device, or a failing kernel.
    fn kernels(&self, kernels: &[Kernel], listener: &dyn Listener) -> Result<Vec<Timed>, DeviceError>;

    /// Begin and end of the operations of a kernel's first CTA ([`crate::trace`]). `None` if they were not recorded.
    ///
    /// # Errors
    /// A failing kernel.
    fn trace(&self, kernel: &Kernel) -> Result<Option<String>, DeviceError>;
}

/// Records of single kernels: case and rows.
const TRACES: [(&str, &str); 3] = [
    ("test.smem_double_buffer.b", include_str!("../data/h200_trace.test.smem_double_buffer.b.csv")),
    ("test.tma_warp_specialized.128x128x6", include_str!("../data/h200_trace.test.tma_warp_specialized.128x128x6.csv")),
    ("test.tma_wgmma.c", include_str!("../data/h200_trace.test.tma_wgmma.c.csv")),
];

/// The measurements of one H200, replayed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorded;

impl Device for Recorded {
    fn name(&self) -> String {
        "recorded: one NVIDIA H200".to_string()
    }

    fn vendor(&self) -> Vendor {
        Vendor::Nvidia
    }

    fn date(&self) -> Option<&'static str> {
        Some("2026-11-23")
    }

    fn needs_source(&self) -> bool {
        false
    }

    fn probes(&self, _: &dyn Listener) -> Result<Measurements, DeviceError> {
        Measurements::parse(include_str!("../data/h200_calibrate.csv"))
            .map_err(|why| DeviceError::Row { probe: "all".to_string(), why })
    }

    fn kernels(&self, kernels: &[Kernel], _: &dyn Listener) -> Result<Vec<Timed>, DeviceError> {
        let failed = |kernel: &str, why: String| DeviceError::Kernel { kernel: kernel.to_string(), why };
        let all = accuracy::recorded().map_err(|e| failed("all", format!("the record is not understood: {e}")))?;
        let one = |k: &Kernel| {
            let found = all.iter().find(|t| t.case == k.case).cloned();
            found.ok_or_else(|| failed(&k.case, "it was not timed".to_string()))
        };
        kernels.iter().map(one).collect()
    }

    fn trace(&self, kernel: &Kernel) -> Result<Option<String>, DeviceError> {
        Ok(TRACES.iter().find(|(case, _)| *case == kernel.case).map(|(_, text)| text.to_string()))
    }
}
