//! The programs of the CUDA toolkit.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::accuracy::Counted;
use crate::device::DeviceError;

use super::counters;

/// `nvcc`, and `ncu` where it is there.
#[derive(Debug)]
pub(super) struct Toolkit {
    nvcc: PathBuf,
    ncu: Option<PathBuf>,
    /// Index of the device that programs see.
    index: u32,
}

impl Toolkit {
    /// Looks on the PATH, in `CUDA_HOME` and `CUDA_PATH`, and where the toolkit is installed by default.
    pub(super) fn find(index: u32) -> Result<Toolkit, DeviceError> {
        let Some(nvcc) = program("nvcc") else {
            return Err(DeviceError::Missing(
                "there is no `nvcc` on the PATH, in CUDA_HOME or in /usr/local/cuda".to_string(),
                "install the CUDA toolkit, or set CUDA_HOME to where it is; `--device recorded` replays what was measured \
                 on an H200"
                    .to_string(),
            ));
        };
        Ok(Toolkit { nvcc, ncu: program("ncu"), index })
    }

    /// Whether kernels can be counted.
    pub(super) fn counters(&self) -> bool {
        self.ncu.is_some()
    }

    /// Compiles a source beside it; the program's path.
    pub(super) fn compile(&self, source: &Path, name: &str, arch: &str, flags: &[&str]) -> Result<PathBuf, String> {
        let out = source.with_file_name(name);
        let code = format!("arch=compute_{arch},code=sm_{arch}");
        let mut c = Command::new(&self.nvcc);
        c.args(["-O2", "-std=c++17", "-gencode", &code]).args(flags).arg("-o").arg(&out).arg(source);
        let done = c.output().map_err(|e| format!("cannot start `{}`: {e}", self.nvcc.display()))?;
        if done.status.success() { Ok(out) } else { Err(said(&done)) }
    }

    /// Runs a program; what it printed.
    pub(super) fn run(&self, program: &Path, args: &[&str]) -> Result<String, String> {
        self.output(Command::new(program).args(args))
    }

    /// Counts the fourth launch of a kernel, with caches flushed before.
    pub(super) fn count(&self, program: &Path) -> Result<Counted, String> {
        let Some(ncu) = &self.ncu else { return Err("there is no `ncu`".to_string()) };
        let metrics = counters::METRICS.join(",");
        let mut c = Command::new(ncu);
        c.args(["--clock-control", "none", "-k", "regex:^kernel$", "--launch-skip", "3", "--launch-count", "1"])
            .args(["--metrics", &metrics, "--csv", "--page", "raw"])
            .arg(program)
            .args(["--time", "1"]);
        counters::read(&self.output(&mut c)?)
    }

    fn output(&self, c: &mut Command) -> Result<String, String> {
        let done = c.env("CUDA_VISIBLE_DEVICES", self.index.to_string()).output().map_err(|e| e.to_string())?;
        if done.status.success() { Ok(String::from_utf8_lossy(&done.stdout).into_owned()) } else { Err(said(&done)) }
    }
}

/// The end of what a program said that failed.
fn said(done: &Output) -> String {
    let (err, out) = (String::from_utf8_lossy(&done.stderr), String::from_utf8_lossy(&done.stdout));
    let lines: Vec<&str> = out.lines().chain(err.lines()).filter(|l| !l.trim().is_empty()).collect();
    let end = lines[lines.len().saturating_sub(6)..].join("\n");
    if end.is_empty() { done.status.to_string() } else { end }
}

fn program(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let homes = ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(std::env::var_os).map(|h| PathBuf::from(h).join("bin"));
    let usual = std::iter::once(PathBuf::from("/usr/local/cuda/bin"));
    std::env::split_paths(&path).chain(homes).chain(usual).map(|d| d.join(&name)).find(|p| p.is_file())
}
