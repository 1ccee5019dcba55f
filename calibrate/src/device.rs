//! Devices that answer with measurements, behind one trait.

use warpline_sim::machine::Vendor;

use crate::accuracy::{self, Timed};
use crate::measure::{BadRow, Measurements};

/// Why a device gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// There is no such device here, or not what is needed to use it; the second part says what to do.
    #[error("{0}")]
    Missing(String, String),
    /// The driver refused.
    #[error("the driver of {device} says: {why}")]
    Driver {
        /// Which device.
        device: String,
        /// What it said.
        why: String,
    },
    /// A probe did not run to its end.
    #[error("the probe `{probe}` failed: {why}")]
    Probe {
        /// Which.
        probe: String,
        /// What it said.
        why: String,
    },
    /// A kernel was not compiled, or did not run to its end.
    #[error("the kernel `{kernel}` failed: {why}")]
    Kernel {
        /// Which.
        kernel: String,
        /// What it said.
        why: String,
    },
    /// A probe printed something else than measurements.
    #[error("the probe `{probe}` is not understood: {why}")]
    Row {
        /// Which.
        probe: String,
        /// The line.
        why: BadRow,
    },
}

impl DeviceError {
    /// What to do about it, where there is something to say.
    pub fn help(&self) -> Option<&str> {
        match self {
            DeviceError::Missing(_, help) => Some(help),
            _ => None,
        }
    }
}

/// What there is without a device, at the end of a help.
pub(crate) const RECORDED: &str = "`--device recorded` replays what was measured on an H200";

/// A kernel to be timed.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// `train.`, `test.` or `alone.`, and a name.
    pub case: String,
    /// Its text for the device with the harness around it; a device that replays needs none.
    pub source: Option<String>,
    /// The harness, where it is a text of its own (Metal).
    pub harness: Option<String>,
    /// The clock in MHz that a device is taken to have that tells none (Metal): the machine's.
    pub mhz: f64,
}

impl Kernel {
    /// Its text.
    ///
    /// # Errors
    /// When there is none.
    pub fn text(&self) -> Result<&str, DeviceError> {
        self.source.as_deref().ok_or_else(|| self.failed("it came without its text".to_string()))
    }

    /// Why it was not compiled, or did not run to its end.
    pub fn failed(&self, why: String) -> DeviceError {
        DeviceError::Kernel { kernel: self.case.clone(), why }
    }
}

/// Hears of the pieces of a device's work as they are done.
pub trait Listener: Sync {
    /// So many more pieces are to be done.
    fn more(&self, pieces: usize);
    /// One is done.
    fn done(&self);
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deaf;

impl Listener for Deaf {
    fn more(&self, _: usize) {}
    fn done(&self) {}
}

/// Something that runs probes and kernels, or ran them once.
pub trait Device {
    /// A name for people.
    fn name(&self) -> String;

    /// Whose it is: which machines its numbers can go into, and in which language its kernels are written.
    fn vendor(&self) -> Vendor;

    /// What is known against believing it, as that its driver was never run.
    fn warning(&self) -> Option<&'static str> {
        None
    }

    /// The day of the measurements, where it is not today.
    fn date(&self) -> Option<&'static str> {
        None
    }

    /// Whether kernels have to be given as text.
    fn needs_source(&self) -> bool {
        true
    }

    /// Runs all probes.
    ///
    /// # Errors
    /// When there is no device, or a probe fails.
    fn probes(&self, listener: &dyn Listener) -> Result<Measurements, DeviceError>;

    /// Times kernels, each in the same state of the caches: cold.
    ///
    /// # Errors
    /// When there is no device, or a kernel fails.
    fn kernels(&self, kernels: &[Kernel], listener: &dyn Listener) -> Result<Vec<Timed>, DeviceError>;

    /// When the operations of a kernel's first CTA began and ended (see [`crate::trace`]). `None` where it was not recorded.
    ///
    /// # Errors
    /// When the kernel fails.
    fn trace(&self, kernel: &Kernel) -> Result<Option<String>, DeviceError>;
}

/// Records of single kernels: the case, and its rows.
const TRACES: [(&str, &str); 3] = [
    ("test.smem_double_buffer.b", include_str!("../data/h200_trace.test.smem_double_buffer.b.csv")),
    ("test.tma_warp_specialized.128x128x6", include_str!("../data/h200_trace.test.tma_warp_specialized.128x128x6.csv")),
    ("test.tma_wgmma.c", include_str!("../data/h200_trace.test.tma_wgmma.c.csv")),
];

/// What was measured on one H200, replayed.
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
