//! The HIP runtime and its compiler, hiprtc, loaded when a device is opened. Never run on a device by us.
//!
//! Of HIP's code, `unsafe` is only in this file: loading two libraries, and calls with the types that
//! `hip/hip_runtime_api.h` and `hip/hiprtc.h` declare (equal in ROCm 5.2 to 6.2, which were checked). No struct is
//! passed, because hipDeviceProp_t has another layout from ROCm 6 on.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::ptr::{null, null_mut};

use libloading::Library;

use super::asked::{KERNELS, SAID, attribute};
use crate::device::{DeviceError, RECORDED};
use crate::measure::{Measurement, Measurements};

const REPEATS: usize = 21;
/// Launches between two events.
const ROW: usize = 20;
/// Iterations of the loop in a launch, for some milliseconds.
const TURNS: u32 = 1 << 18;

/// Functions of a library; the caller of each checks its arguments.
macro_rules! functions {
    ($name:ident: $($f:ident($($t:ty),*) -> $r:ty;)*) => {
        #[allow(non_snake_case)]
        struct $name {
            $($f: unsafe extern "C" fn($($t),*) -> $r,)*
            /// Keeps the functions loaded.
            _library: Library,
        }
        impl $name {
            fn of(library: Library) -> Result<$name, libloading::Error> {
                // SAFETY: names and types are those of the library's header.
                Ok(unsafe { $name { $($f: *library.get(stringify!($f))?,)* _library: library } })
            }
        }
    };
}

functions! { Runtime:
    hipInit(c_uint) -> c_int;
    hipGetErrorString(c_int) -> *const c_char;
    hipRuntimeGetVersion(*mut c_int) -> c_int;
    hipSetDevice(c_int) -> c_int;
    hipDeviceGetName(*mut c_char, c_int, c_int) -> c_int;
    hipDeviceGetAttribute(*mut c_int, c_int, c_int) -> c_int;
    hipModuleLoadData(*mut *mut c_void, *const c_void) -> c_int;
    hipModuleGetFunction(*mut *mut c_void, *mut c_void, *const c_char) -> c_int;
    hipModuleLaunchKernel(
        *mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void, *mut *mut c_void, *mut *mut c_void
    ) -> c_int;
    hipMalloc(*mut *mut c_void, usize) -> c_int;
    hipFree(*mut c_void) -> c_int;
    hipMemcpyDtoH(*mut c_void, *mut c_void, usize) -> c_int;
    hipEventCreate(*mut *mut c_void) -> c_int;
    hipEventRecord(*mut c_void, *mut c_void) -> c_int;
    hipEventSynchronize(*mut c_void) -> c_int;
    hipEventElapsedTime(*mut f32, *mut c_void, *mut c_void) -> c_int;
}

functions! { Compiler:
    hiprtcCreateProgram(
        *mut *mut c_void, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char
    ) -> c_int;
    hiprtcCompileProgram(*mut c_void, c_int, *const *const c_char) -> c_int;
    hiprtcGetProgramLogSize(*mut c_void, *mut usize) -> c_int;
    hiprtcGetProgramLog(*mut c_void, *mut c_char) -> c_int;
    hiprtcGetCodeSize(*mut c_void, *mut usize) -> c_int;
    hiprtcGetCode(*mut c_void, *mut c_char) -> c_int;
    hiprtcGetErrorString(c_int) -> *const c_char;
}

/// A device with its libraries.
pub(super) struct Driver {
    /// Index of the device.
    pub(super) index: i32,
    /// Name of the device.
    pub(super) name: String,
    /// `gfx942`.
    pub(super) arch: String,
    version: i32,
    runtime: Runtime,
    compiler: Compiler,
}

/// Finds the libraries as the loader does, and in ROCm's folder; both from one release.
fn load() -> Option<(Runtime, Compiler)> {
    let homes = ["ROCM_PATH", "HIP_PATH"].iter().filter_map(std::env::var_os).map(|h| PathBuf::from(h).join("lib"));
    let folders: Vec<PathBuf> = std::iter::once(PathBuf::new()).chain(homes).chain(["/opt/rocm/lib".into()]).collect();
    let all = folders.iter().flat_map(|f| ["", ".7", ".6", ".5"].map(|v| (f, v)));
    all.into_iter().find_map(|(folder, version)| {
        // SAFETY: the initializers that run are the vendor's.
        let open = |name: &str| unsafe { Library::new(folder.join(format!("{name}.so{version}"))) };
        let runtime = Runtime::of(open("libamdhip64").ok()?).ok()?;
        // Until about ROCm 5.4, the runtime had the compiler's functions.
        let compiler = open("libhiprtc").or_else(|_| open("libamdhip64")).ok()?;
        Some((runtime, Compiler::of(compiler).ok()?))
    })
}

impl Driver {
    /// Opens the runtime and the device.
    pub(super) fn open(index: u32) -> Result<Driver, DeviceError> {
        let Some((runtime, compiler)) = load() else {
            return Err(DeviceError::Missing(
                "there is no HIP runtime on this machine (libamdhip64 and libhiprtc are not found)".to_string(),
                format!(
                    "run it where an AMD device and ROCm are; ROCM_PATH says where ROCm is, if not in /opt/rocm; {RECORDED}"
                ),
            ));
        };
        let index = index as i32;
        let d = Driver { index, name: String::new(), arch: String::new(), version: 0, runtime, compiler };
        let absent = |why: String| {
            DeviceError::Missing(
                format!("there is no device hip:{index}: {why}"),
                format!("`rocm-smi` lists the devices, from 0; {RECORDED}"),
            )
        };
        // SAFETY: takes no pointer.
        d.ok(unsafe { (d.runtime.hipInit)(0) }).map_err(absent)?;
        // SAFETY: as above.
        d.ok(unsafe { (d.runtime.hipSetDevice)(index) }).map_err(absent)?;
        d.ask().map_err(|why| d.refused(why)).map(|(name, arch, version)| Driver { name, arch, version, ..d })
    }

    fn refused(&self, why: String) -> DeviceError {
        DeviceError::Driver { device: format!("hip:{}", self.index), why }
    }

    /// Name, architecture and version of the runtime.
    fn ask(&self) -> Result<(String, String, i32), String> {
        let mut name = [0 as c_char; 256];
        let mut version = 0;
        // SAFETY: writes at most 255 characters and a zero, then one integer.
        let name = unsafe {
            self.ok((self.runtime.hipDeviceGetName)(name.as_mut_ptr(), 255, self.index))?;
            self.ok((self.runtime.hipRuntimeGetVersion)(&mut version))?;
            CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
        };
        // The stepping is not among the attributes; these are all CDNA architectures.
        let arch = match (self.attribute(attribute::MAJOR)?, self.attribute(attribute::MINOR)?) {
            (9, 0) => "gfx90a".to_string(),
            (9, 4) => "gfx942".to_string(),
            (9, 5) => "gfx950".to_string(),
            (major, minor) => format!("gfx{major}.{minor}"),
        };
        Ok((name, arch, version))
    }

    fn attribute(&self, which: i32) -> Result<i32, String> {
        let mut value = 0;
        // SAFETY: writes one integer through a pointer to it.
        self.ok(unsafe { (self.runtime.hipDeviceGetAttribute)(&mut value, which, self.index) })?;
        Ok(value)
    }

    /// Attributes of the device, launch time, and the clock under load.
    pub(super) fn probes(&self) -> Result<Measurements, DeviceError> {
        self.measure().map_err(|why| self.refused(why))
    }

    fn measure(&self) -> Result<Measurements, String> {
        let mut rows = Vec::new();
        for (probe, unit, which) in SAID {
            rows.push(Measurement::of(probe, unit, &mut [self.attribute(which)? as f64]));
        }
        let cores = self.attribute(attribute::CORES)?;
        let code = self.compile()?;
        let mut module = null_mut();
        // SAFETY: the code is what the compiler wrote, whole, and the module is not unloaded while its functions are used.
        let (nothing, spin) = unsafe {
            self.ok((self.runtime.hipModuleLoadData)(&mut module, code.as_ptr().cast()))?;
            let function = |name: &CStr| {
                let mut f = null_mut();
                self.ok((self.runtime.hipModuleGetFunction)(&mut f, module, name.as_ptr())).map(|()| f)
            };
            (function(c"nothing")?, function(c"spin")?)
        };
        rows.push(Measurement::of("launch.driver", "us", &mut self.launches(nothing)?));
        rows.push(Measurement::of("clock.fma", "MHz", &mut self.clock(spin, cores as u32)?));
        let device = format!("{}, {cores} CUs, {}, HIP runtime {}", self.name, self.arch, self.version);
        Ok(Measurements { device, rows })
    }

    /// The two kernels as code for the device.
    fn compile(&self) -> Result<Vec<u8>, String> {
        let c = &self.compiler;
        let mut program = null_mut();
        let arch = format!("--offload-arch={}\0", self.arch);
        let options = [arch.as_ptr().cast::<c_char>()];
        let mut size = 0;
        // SAFETY: all strings end with a zero, and buffers are as large as the compiler says.
        unsafe {
            self.right((c.hiprtcCreateProgram)(&mut program, KERNELS.as_ptr(), null(), 0, null(), null()))?;
            let code = (c.hiprtcCompileProgram)(program, 1, options.as_ptr());
            if code != 0 {
                self.right((c.hiprtcGetProgramLogSize)(program, &mut size))?;
                let mut log = vec![0u8; size];
                self.right((c.hiprtcGetProgramLog)(program, log.as_mut_ptr().cast()))?;
                return Err(String::from_utf8_lossy(&log).trim_end_matches('\0').to_string());
            }
            self.right((c.hiprtcGetCodeSize)(program, &mut size))?;
            let mut code = vec![0u8; size];
            self.right((c.hiprtcGetCode)(program, code.as_mut_ptr().cast()))?;
            Ok(code)
        }
    }

    /// Microseconds of an empty launch among others in a stream.
    fn launches(&self, nothing: *mut c_void) -> Result<Vec<f64>, String> {
        let r = &self.runtime;
        let (mut from, mut to, mut ms, mut all) = (null_mut(), null_mut(), 0f32, Vec::new());
        // SAFETY: the events are the runtime's own, and the kernel takes no arguments and touches no memory.
        unsafe {
            self.ok((r.hipEventCreate)(&mut from))?;
            self.ok((r.hipEventCreate)(&mut to))?;
            for round in 0..=REPEATS {
                self.ok((r.hipEventRecord)(from, null_mut()))?;
                for _ in 0..ROW {
                    self.launch(nothing, (1, 64), &mut [])?;
                }
                self.ok((r.hipEventRecord)(to, null_mut()))?;
                self.ok((r.hipEventSynchronize)(to))?;
                self.ok((r.hipEventElapsedTime)(&mut ms, from, to))?;
                // The first round is a warm-up.
                if round > 0 {
                    all.push(ms as f64 * 1000.0 / ROW as f64);
                }
            }
        }
        Ok(all)
    }

    /// The clock in MHz while all cores multiply and add.
    fn clock(&self, spin: *mut c_void, cores: u32) -> Result<Vec<f64>, String> {
        let r = &self.runtime;
        // CDNA's constant clock has 100 MHz; older runtimes have no attribute for it.
        let khz = self.attribute(attribute::WALL_CLOCK_KHZ).unwrap_or(100_000) as f64;
        let (mut out, mut turns, mut all) = (null_mut(), TURNS, Vec::new());
        // SAFETY: the arguments are those of the kernel's text: room for two 64-bit integers, and a count.
        unsafe {
            self.ok((r.hipMalloc)(&mut out, 16))?;
            for round in 0..=REPEATS {
                let mut arguments = [(&raw mut out).cast::<c_void>(), (&raw mut turns).cast()];
                self.launch(spin, (2 * cores, 512), &mut arguments)?;
                let mut took = [0u64; 2];
                self.ok((r.hipMemcpyDtoH)(took.as_mut_ptr().cast(), out, 16))?;
                if round > 0 {
                    all.push(took[0] as f64 / took[1].max(1) as f64 * khz / 1000.0);
                }
            }
            self.ok((r.hipFree)(out))?;
        }
        Ok(all)
    }

    /// # Safety
    /// The arguments are those of the kernel.
    unsafe fn launch(&self, f: *mut c_void, grid: (u32, u32), arguments: &mut [*mut c_void]) -> Result<(), String> {
        let (stream, extra) = (null_mut(), null_mut());
        // SAFETY: the caller's word.
        self.ok(unsafe {
            (self.runtime.hipModuleLaunchKernel)(
                f,
                grid.0,
                1,
                1,
                grid.1,
                1,
                1,
                0,
                stream,
                arguments.as_mut_ptr(),
                extra,
            )
        })
    }

    /// The runtime's message for a code.
    fn ok(&self, code: i32) -> Result<(), String> {
        words(code, self.runtime.hipGetErrorString)
    }

    /// The compiler's message for a code.
    fn right(&self, code: i32) -> Result<(), String> {
        words(code, self.compiler.hiprtcGetErrorString)
    }
}

fn words(code: i32, of: unsafe extern "C" fn(c_int) -> *const c_char) -> Result<(), String> {
    // SAFETY: the library returns a text of its own for every code.
    if code == 0 { Ok(()) } else { Err(unsafe { CStr::from_ptr(of(code)) }.to_string_lossy().into_owned()) }
}
