//! Kernels on real devices, and machine files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Input;

/// `warpline emit`.
#[derive(Debug, Args)]
pub struct Emit {
    /// The kernel to write.
    #[command(flatten)]
    pub input: Input,

    /// The source language
    #[arg(long, value_enum)]
    pub target: Target,

    /// The file to write, or `-` for the standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,

    /// Apply the N-th mutation first, from 0 in the order of docs/mutation.md; a note names the mutation
    #[arg(long, value_name = "N")]
    pub mutant: Option<usize>,
}

/// A source language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// CUDA C++, for NVIDIA machines.
    Cuda,
    /// HIP C++, for AMD's CDNA.
    Hip,
    /// The Metal Shading Language, for Apple's machines, with a harness beside the kernel (x.metal, x.swift)
    Metal,
}

impl Target {
    /// The word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Target::Cuda => "cuda",
            Target::Hip => "hip",
            Target::Metal => "metal",
        }
    }
}

/// `warpline calibrate`.
#[derive(Debug, Args)]
pub struct Calibrate {
    /// The device: `cuda:N`, `hip:N` or `metal:N` of this computer, or `recorded`, the measurements of one H200. A device
    /// needs its driver and compiler (nvcc; ROCm; swiftc for kernels on macOS). HIP and Metal were never run by us
    #[arg(long, value_name = "DEVICE")]
    pub device: String,

    /// The machine that gets the numbers: a built-in name (`h200`) or a machine file (.toml). The default follows the
    /// device's vendor: h200, mi300x or m4-max
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,

    /// The machine file to write. Without it, the changes are only printed
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write the measurements of the probes (.csv)
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// `warpline validate`.
#[derive(Debug, Args)]
pub struct Validate {
    /// The device: `cuda:N`, `hip:N` or `metal:N` of this computer, or `recorded`, the measurements of one H200. A device
    /// needs its driver and compiler (nvcc; ROCm; swiftc for kernels on macOS). HIP and Metal were never run by us
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,

    /// The same as `--device recorded`
    #[arg(long, conflicts_with = "device")]
    pub recorded: bool,

    /// Compare with measured rows of compiled kernels: a file (.json or .jsonl) with `name`, `launch`, `cycles` and `ns`
    /// of each, and NAME.ptx or NAME.ptx.gz beside it
    #[arg(
        long,
        value_name = "FILE",
        requires = "machine",
        conflicts_with_all = ["device", "recorded", "output", "worst", "record"]
    )]
    pub rows: Option<PathBuf>,

    /// The machine that predicts, at the clock that the device ran at: a built-in name or a machine file (.toml). The
    /// default follows the device's vendor: h200, mi300x or m4-max
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,

    /// Draw simulated against measured cycles; the ending (.png or .svg) sets the format
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Draw the worst kernels of the test set that have a record, simulated above measured, into this folder
    #[arg(long, value_name = "FOLDER")]
    pub worst: Option<PathBuf>,

    /// Write the measurements into this folder: validation.jsonl, and records of the worst kernels
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,
}
