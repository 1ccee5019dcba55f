//! The CUDA driver through cudarc, whose library is loaded when a device is opened.
//!
//! Of CUDA's code, `unsafe` is only in this file: testing for the library, the driver's version, and launching the
//! two kernels below.
#![allow(unsafe_code)]

use std::sync::Arc;

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUevent_flags};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

use crate::device::{DeviceError, RECORDED};
use crate::measure::{Measurement, Measurements};

/// Two kernels as PTX, so that only the driver is needed: one does nothing, and one multiplies and adds for a while
/// and counts cycles and nanoseconds.
const KERNELS: &str = r"
.version 6.4
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry spin(.param .u64 out, .param .u32 turns)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<8>;
    .reg .f32 %f<5>;
    .reg .pred %p<3>;
    ld.param.u64 %d0, [out];
    ld.param.u32 %r0, [turns];
    cvta.to.global.u64 %d0, %d0;
    mov.u32 %r1, %tid.x;
    cvt.rn.f32.u32 %f0, %r1;
    mov.f32 %f1, 0f3F000000;
    mov.f32 %f2, %f0;
    mov.f32 %f3, %f0;
    mov.u64 %d1, %clock64;
    mov.u64 %d2, %globaltimer;
again:
    fma.rn.f32 %f0, %f0, %f1, %f1;
    fma.rn.f32 %f2, %f2, %f1, %f1;
    fma.rn.f32 %f3, %f3, %f1, %f1;
    sub.u32 %r0, %r0, 1;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra again;
    mov.u64 %d3, %clock64;
    mov.u64 %d4, %globaltimer;
    sub.u64 %d3, %d3, %d1;
    sub.u64 %d4, %d4, %d2;
    add.f32 %f0, %f0, %f2;
    add.f32 %f0, %f0, %f3;
    mov.u32 %r2, %ctaid.x;
    or.b32 %r3, %r1, %r2;
    setp.ne.u32 %p1, %r3, 0;
    setp.eq.f32 %p2, %f0, 0f4B000000;
    @%p2 st.global.u64 [%d0], %d1;
    @%p1 bra done;
    st.global.u64 [%d0], %d3;
    st.global.u64 [%d0+8], %d4;
done:
    ret;
}
";

const REPEATS: usize = 21;
/// Launches between two events.
const ROW: usize = 20;
/// Iterations of the loop in a launch, for some milliseconds.
const TURNS: u32 = 1 << 20;

/// Facts about a device; no context is held.
#[derive(Debug)]
pub(super) struct Driver {
    /// Index of the device.
    index: u32,
    /// Name of the device.
    name: String,
    /// `90a`.
    arch: String,
    /// CUDA version of the driver: 13000.
    version: i32,
}

impl Driver {
    /// Opens the driver and the device.
    pub(super) fn open(index: u32) -> Result<Driver, DeviceError> {
        // SAFETY: loads the driver's library, whose initializers are the vendor's, and unloads it.
        if !unsafe { sys::is_culib_present() } {
            return Err(DeviceError::Missing(
                "there is no CUDA driver on this machine (libcuda is not found)".to_string(),
                format!("run it where the device is; {RECORDED}"),
            ));
        }
        let absent = |e: DriverError| {
            DeviceError::Missing(
                format!("there is no device cuda:{index}: {}", words(e)),
                format!("`nvidia-smi -L` lists the devices, from 0; {RECORDED}"),
            )
        };
        let device = CudaContext::new(index as usize).map_err(absent)?;
        let failed = |e: DriverError| DeviceError::Driver { device: format!("cuda:{index}"), why: words(e) };
        let (major, minor) = device.compute_capability().map_err(failed)?;
        // From 9.0 on, instructions of a single generation have an `a`.
        let arch = format!("{major}{minor}{}", if major >= 9 { "a" } else { "" });
        let mut version = 0;
        // SAFETY: writes one integer through a pointer to it.
        unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(failed)?;
        Ok(Driver { index, name: device.name().map_err(failed)?, arch, version })
    }

    /// Index of the device.
    pub(super) fn index(&self) -> u32 {
        self.index
    }

    /// Name of the device.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Its architecture, as in `sm_90a`: `90a`.
    pub(super) fn arch(&self) -> &str {
        &self.arch
    }

    /// Attributes of the device, launch time, and the clock under load.
    pub(super) fn probes(&self) -> Result<Measurements, DeviceError> {
        let failed = |e: DriverError| DeviceError::Driver { device: format!("cuda:{}", self.index), why: words(e) };
        self.measure().map_err(failed)
    }

    fn measure(&self) -> Result<Measurements, DriverError> {
        let device = CudaContext::new(self.index as usize)?;
        let mut rows = Vec::new();
        for (probe, unit, attribute) in SAID {
            rows.push(Measurement::of(probe, unit, &mut [device.attribute(attribute)? as f64]));
        }
        let cores = device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32;
        let module = device.load_module(Ptx::from_src(KERNELS))?;
        let (nothing, spin) = (module.load_function("nothing")?, module.load_function("spin")?);
        let stream = device.new_stream()?;
        rows.push(Measurement::of("launch.driver", "us", &mut launches(&device, &stream, &nothing)?));
        rows.push(Measurement::of("clock.fma", "MHz", &mut clock(&stream, &spin, cores)?));
        let (major, minor) = (self.version / 1000, self.version % 1000 / 10);
        let name = format!("{}, {cores} SMs, driver for CUDA {major}.{minor}", self.name);
        Ok(Measurements { device: name, rows })
    }
}

/// Attributes of a device: probe, unit, attribute.
const SAID: [(&str, &str, Attribute); 7] = [
    ("device.cores", "cores", Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
    ("device.l2", "bytes", Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
    ("device.shared_per_core", "bytes", Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
    ("device.shared_per_cta", "bytes", Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    ("device.registers", "registers", Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
    ("device.threads_per_cta", "threads", Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
    ("device.warp", "threads", Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE),
];

/// Microseconds of an empty launch among others in a stream.
fn launches(device: &Arc<CudaContext>, stream: &CudaStream, nothing: &CudaFunction) -> Result<Vec<f64>, DriverError> {
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
    let timed = Some(CUevent_flags::CU_EVENT_DEFAULT);
    let (from, to) = (device.new_event(timed)?, device.new_event(timed)?);
    let mut all = Vec::new();
    for round in 0..=REPEATS {
        from.record(stream)?;
        for _ in 0..ROW {
            // SAFETY: the kernel takes no arguments and touches no memory.
            unsafe { stream.launch_builder(nothing).launch(config) }?;
        }
        to.record(stream)?;
        let us = from.elapsed_ms(&to)? as f64 * 1000.0 / ROW as f64;
        // The first round is a warm-up.
        if round > 0 {
            all.push(us);
        }
    }
    Ok(all)
}

/// The clock in MHz while all cores multiply and add.
fn clock(stream: &Arc<CudaStream>, spin: &CudaFunction, cores: u32) -> Result<Vec<f64>, DriverError> {
    let config = LaunchConfig { grid_dim: (2 * cores, 1, 1), block_dim: (512, 1, 1), shared_mem_bytes: 0 };
    let mut out = stream.alloc_zeros::<u64>(2)?;
    let mut all = Vec::new();
    for round in 0..=REPEATS {
        // SAFETY: the arguments are those of the kernel's text: room for two 64-bit integers, and a count.
        unsafe { stream.launch_builder(spin).arg(&mut out).arg(&TURNS).launch(config) }?;
        let took = stream.clone_dtoh(&out)?;
        if let ([cycles, ns], true) = (&took[..], round > 0) {
            all.push(*cycles as f64 / (*ns).max(1) as f64 * 1000.0);
        }
    }
    Ok(all)
}

fn words(e: DriverError) -> String {
    e.error_string().map_or_else(|_| e.to_string(), |s| s.to_string_lossy().into_owned())
}
