//! Replaces the driver in a build without the feature `cuda`.

use crate::device::{DeviceError, RECORDED};
use crate::measure::Measurements;

/// A driver that does not exist.
#[derive(Debug)]
pub(super) enum Driver {}

impl Driver {
    pub(super) fn open(_: u32) -> Result<Driver, DeviceError> {
        Err(DeviceError::Missing(
            "this warpline was built without the CUDA driver".to_string(),
            format!("build it with `cargo build --release --features cuda`; {RECORDED}"),
        ))
    }

    pub(super) fn index(&self) -> u32 {
        match *self {}
    }

    pub(super) fn name(&self) -> &str {
        match *self {}
    }

    pub(super) fn arch(&self) -> &str {
        match *self {}
    }

    pub(super) fn probes(&self) -> Result<Measurements, DeviceError> {
        match *self {}
    }
}
