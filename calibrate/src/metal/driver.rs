//! A Metal device through objc2-metal. Never run by us.
//!
//! Of Metal's code, `unsafe` is only in this file: arguments of a launch, and the memory of a shared buffer.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::NonNull;

use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_foundation::{NSError, NSString};
use objc2_metal::{
    MTLBuffer, MTLCommandBuffer, MTLCommandEncoder, MTLCommandQueue, MTLComputeCommandEncoder, MTLComputePipelineState,
    MTLCopyAllDevices, MTLDevice, MTLLibrary, MTLResourceOptions, MTLSize,
};

use super::probes::BYTES;
use crate::device::{DeviceError, RECORDED};

// A program that is no application finds devices only if this is linked.
#[link(name = "CoreGraphics", kind = "framework")]
unsafe extern "C" {}

/// Words of threadgroup memory of a probe.
const WORDS: usize = 16 << 10;

type Object<T> = Retained<ProtocolObject<T>>;

/// A device with its queue, and buffers for probes.
#[derive(Debug)]
pub(super) struct Driver {
    index: u32,
    device: Object<dyn MTLDevice>,
    queue: Object<dyn MTLCommandQueue>,
    out: Object<dyn MTLBuffer>,
    data: Object<dyn MTLBuffer>,
    metallib: RefCell<Option<Object<dyn MTLLibrary>>>,
}

impl Driver {
    /// Opens the device.
    pub(super) fn open(index: u32) -> Result<Driver, DeviceError> {
        let devices = MTLCopyAllDevices();
        let Some(device) = devices.iter().nth(index as usize) else {
            return Err(DeviceError::Missing(
                format!("there is no device metal:{index}; this machine has {}", devices.len()),
                format!("`system_profiler SPDisplaysDataType` lists them; {RECORDED}"),
            ));
        };
        let failed = |why: &str| DeviceError::Driver { device: format!("metal:{index}"), why: why.to_string() };
        let buffer = |bytes: usize| {
            let made = device.newBufferWithLength_options(bytes, MTLResourceOptions::StorageModeShared);
            made.ok_or_else(|| failed(&format!("no buffer of {bytes} bytes")))
        };
        let queue = device.newCommandQueue().ok_or_else(|| failed("no queue"))?;
        let (out, data) = (buffer(1 << 20)?, buffer(BYTES)?);
        let driver = Driver { index, device, queue, out, data, metallib: RefCell::new(None) };
        // Touch every page before anything is timed.
        driver.fill(&vec![0; BYTES / 4]);
        Ok(driver)
    }

    /// Metal's name for the device.
    pub(super) fn name(&self) -> String {
        self.device.name().to_string()
    }

    pub(super) fn index(&self) -> u32 {
        self.index
    }

    fn failed(&self, why: String) -> DeviceError {
        DeviceError::Driver { device: format!("metal:{}", self.index), why }
    }

    fn said(&self, e: &NSError) -> DeviceError {
        self.failed(e.localizedDescription().to_string())
    }

    /// Compiles a text with the kernels to launch.
    pub(super) fn prepare(&self, text: &str) -> Result<(), DeviceError> {
        let made = self.device.newLibraryWithSource_options_error(&NSString::from_str(text), None);
        *self.metallib.borrow_mut() = Some(made.map_err(|e| self.said(&e))?);
        Ok(())
    }

    /// Writes words to the start of the probes' input, and starts chains at the first.
    pub(super) fn fill(&self, words: &[u32]) {
        assert!(words.len() * 4 <= BYTES, "the buffer holds what is put there");
        // SAFETY: both buffers are shared memory, longer than what is written, and no launch is running: each is
        // waited for.
        unsafe {
            self.data.contents().cast::<u32>().copy_from_nonoverlapping(NonNull::from(words).cast(), words.len());
            self.out.contents().cast::<u32>().write(0);
        }
    }

    /// Launches a kernel with a number of simdgroups in a threadgroup, and of threadgroups. Returns the device's time
    /// in nanoseconds.
    pub(super) fn time(&self, kernel: &str, size: [usize; 2], turns: u32) -> Result<f64, DeviceError> {
        autoreleasepool(|_| self.launch(kernel, size, turns))
    }

    fn launch(&self, kernel: &str, [simdgroups, threadgroups]: [usize; 2], turns: u32) -> Result<f64, DeviceError> {
        let metallib = self.metallib.borrow();
        let function = metallib.as_ref().and_then(|l| l.newFunctionWithName(&NSString::from_str(kernel)));
        let function = function.ok_or_else(|| self.failed(format!("no kernel `{kernel}`")))?;
        let state = self.device.newComputePipelineStateWithFunction_error(&function).map_err(|e| self.said(&e))?;
        let threads = simdgroups * 32;
        if state.maxTotalThreadsPerThreadgroup() < threads {
            return Err(self.failed(format!("`{kernel}` cannot have {threads} threads")));
        }
        let none = || self.failed("no command buffer".to_string());
        let commands = self.queue.commandBuffer().ok_or_else(none)?;
        let encoder = commands.computeCommandEncoder().ok_or_else(none)?;
        encoder.setComputePipelineState(&state);
        // SAFETY: the arguments are those of the kernel's text; the count is copied before the call returns.
        unsafe {
            encoder.setBuffer_offset_atIndex(Some(&self.out), 0, 0);
            encoder.setBuffer_offset_atIndex(Some(&self.data), 0, 1);
            encoder.setBytes_length_atIndex(NonNull::from(&turns).cast::<c_void>(), 4, 2);
            encoder.setThreadgroupMemoryLength_atIndex(WORDS, 0);
        }
        let size = |width: usize| MTLSize { width, height: 1, depth: 1 };
        encoder.dispatchThreadgroups_threadsPerThreadgroup(size(threadgroups), size(threads));
        encoder.endEncoding();
        commands.commit();
        commands.waitUntilCompleted();
        match commands.error() {
            Some(e) => Err(self.said(&e)),
            None => Ok((commands.GPUEndTime() - commands.GPUStartTime()) * 1e9),
        }
    }
}
