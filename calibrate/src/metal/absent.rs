//! Replaces the driver on systems without Metal.

use crate::device::{DeviceError, RECORDED};

/// A driver that does not exist.
#[derive(Debug)]
pub(super) enum Driver {}

impl Driver {
    pub(super) fn open(_: u32) -> Result<Driver, DeviceError> {
        Err(DeviceError::Missing(
            format!("Metal is on macOS, and this is {}", std::env::consts::OS),
            format!("build warpline on the Mac and run it there; {RECORDED}"),
        ))
    }

    pub(super) fn name(&self) -> String {
        match *self {}
    }

    pub(super) fn index(&self) -> u32 {
        match *self {}
    }

    pub(super) fn prepare(&self, _: &str) -> Result<(), DeviceError> {
        match *self {}
    }

    pub(super) fn fill(&self, _: &[u32]) {
        match *self {}
    }

    pub(super) fn time(&self, _: &str, _: [usize; 2], _: u32) -> Result<f64, DeviceError> {
        match *self {}
    }
}
