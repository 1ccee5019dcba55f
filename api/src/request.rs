//! A request: what to load, and with which changes.

use std::path::{Path, PathBuf};

use warpline_import::lift::Launch;
use warpline_scenarios::pipeline::PassOptions;
use warpline_sim::fences::Fences;
use warpline_sim::report::Fidelity;

use crate::error::{Error, Sources};

/// A request to load: scenario, machine and values.
#[derive(Clone, Debug)]
pub struct Request {
    /// A built-in scenario (`metal/triple_buffer`), a scenario file (`.toml`), a kernel (`.pipe`) or a compiled kernel
    /// (`k.ptx`, `k.ptx:name`).
    pub scenario: String,
    /// Texts that stand in the place of files, by the name that the request gives the file.
    pub texts: Sources,
    /// The machine: a built-in name (`h200`) or a machine file (`.toml`); by default the scenario's.
    pub machine: Option<String>,
    /// Values that override those of the scenario; the last value of a name counts.
    pub settings: Vec<Setting>,
    /// The kernel of a module of compiled kernels; `None` for the only one, or if the name contains it.
    pub entry: Option<String>,
    /// The launch of a compiled kernel. Its values override those of `launch_file`.
    pub launch: Launch,
    /// A launch file (.json) of a compiled kernel.
    pub launch_file: Option<PathBuf>,
    /// The disassembly of a compiled kernel (`nvdisasm -c` or `cuobjdump -sass`), for a run.
    pub sass: Option<PathBuf>,
    /// Whether to bind the values of the launch to a compiled kernel. A run needs them; a proof is for every launch.
    pub bind_launch: bool,
    /// Fence rules with other levels than the scenario's.
    pub fences: Vec<FenceLevel>,
    /// The part of the machine to simulate; by default the machine's usual one.
    pub fidelity: Option<Fidelity>,
    /// The source of the clock.
    pub clock: Clock,
    /// Whether to skip CTAs where the state of a core recurs exactly; the results are the same.
    pub skip_repeats: bool,
    /// Number of events after which a run stops.
    pub max_events: Option<u64>,
    /// A schedule file that the run follows: one cluster, its moves in that order, up to the fault.
    pub schedule: Option<PathBuf>,
    /// Choices for `pipelined` loops that override the kernel's own.
    pub pipeline: PassOptions<'static>,
}

impl Request {
    /// A request for a scenario or kernel without changes.
    pub fn named(scenario: &str) -> Request {
        Request {
            scenario: scenario.to_string(),
            texts: Sources::new(),
            machine: None,
            settings: Vec::new(),
            entry: None,
            launch: Launch::default(),
            launch_file: None,
            sass: None,
            bind_launch: false,
            fences: Vec::new(),
            fidelity: None,
            clock: Clock::Given,
            skip_repeats: true,
            max_events: None,
            schedule: None,
            pipeline: PassOptions::default(),
        }
    }

    /// The same request with a value of a kernel parameter.
    pub fn with(mut self, name: &str, value: i64) -> Request {
        self.settings.push(Setting::Parameter { name: name.to_string(), value });
        self
    }

    /// The request for a proof of the same kernel: machine, settings and fences, without the options of a run.
    pub fn for_proof(&self) -> Request {
        Request {
            texts: self.texts.clone(),
            machine: self.machine.clone(),
            settings: self.settings.clone(),
            entry: self.entry.clone(),
            launch: self.launch.clone(),
            launch_file: self.launch_file.clone(),
            sass: self.sass.clone(),
            fences: self.fences.clone(),
            ..Request::named(&self.scenario)
        }
    }

    /// The text of a file: the request's own, or the text on the disk.
    pub(crate) fn read(&self, path: &Path) -> Result<String, Error> {
        text_of(&self.texts, path)
    }

    /// The same request on a machine: a built-in name or a machine file.
    pub fn on(mut self, machine: &str) -> Request {
        self.machine = Some(machine.to_string());
        self
    }
}

/// The text in the place of a file, or the text of the file on the disk.
pub(crate) fn text_of(texts: &Sources, path: &Path) -> Result<String, Error> {
    let own = path.to_str().and_then(|name| texts.get(name));
    own.map_or_else(|| crate::load::read(path), |text| Ok(text.clone()))
}

/// The source of a run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The machine's number, `clock.mhz`.
    Given,
    /// The clock that the run's own tensor load sustains, found run by run.
    Sustained,
}

/// A value that overrides the scenario's.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// A parameter of the kernel.
    Parameter {
        /// Its name.
        name: String,
        /// Its value.
        value: i64,
    },
    /// A number of the machine.
    MachineNumber {
        /// Its key (`memory.dram_gbps`).
        key: String,
        /// Its value, in the unit of the machine file.
        value: f64,
    },
}

impl Setting {
    /// Reads `m=4096` or `machine.memory.dram_gbps=4000`.
    ///
    /// # Errors
    /// A text without a name, or with a value that is not a number.
    pub fn parse(text: &str) -> Result<Setting, String> {
        let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, as in `m=4096`")?;
        let (name, value) = (name.trim(), value.trim());
        if let Some(key) = name.strip_prefix("machine.") {
            return match value.parse::<f64>() {
                Ok(v) if v.is_finite() => Ok(Setting::MachineNumber { key: key.to_string(), value: v }),
                _ => Err(format!("`{value}` is not a number")),
            };
        }
        if name.is_empty() {
            return Err("expected a name before `=`, as in `m=4096`".to_string());
        }
        match value.parse::<i64>() {
            Ok(v) => Ok(Setting::Parameter { name: name.to_string(), value: v }),
            Err(_) => Err(format!("`{value}` is not a whole number; kernel parameters are whole numbers")),
        }
    }
}

/// A fence rule and its level. `docs/fences.md` lists both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenceLevel {
    /// The rule (`async-read`).
    pub rule: String,
    /// Its level (`strict`).
    pub level: String,
}

impl FenceLevel {
    /// Reads `async-read=strict`.
    ///
    /// # Errors
    /// A rule or a level that does not exist.
    pub fn parse(text: &str) -> Result<FenceLevel, String> {
        let (rule, level) = text.split_once('=').ok_or("expected RULE=LEVEL, as in `async-read=strict`")?;
        let (rule, level) = (rule.trim().to_string(), level.trim().to_string());
        Fences::default().set(&rule, &level).map_err(|e| e.to_string())?;
        Ok(FenceLevel { rule, level })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fence_levels() {
        let strict = FenceLevel { rule: "async-read".into(), level: "strict".into() };
        assert_eq!(FenceLevel::parse("async-read = strict"), Ok(strict));
        for bad in ["async-read", "async-read=", "async=off", "tmem-wait=note"] {
            assert!(FenceLevel::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn texts_stand_in_the_place_of_files() {
        let text = "kernel k(n = 2)\n  grid n\n  warps 1\n  flops 0\n  wait nothing\n";
        let request = Request { texts: Sources::from([("k.pipe".into(), text.into())]), ..Request::named("k.pipe") };
        let Err(Error::Input { diagnostics, sources }) = crate::load(&request.on("paper")) else {
            panic!("the last line is wrong");
        };
        assert_eq!((diagnostics[0].file.as_str(), sources["k.pipe"].as_str()), ("k.pipe", text));
    }

    #[test]
    fn settings() {
        assert_eq!(Setting::parse("m=4096"), Ok(Setting::Parameter { name: "m".into(), value: 4096 }));
        let number = Setting::MachineNumber { key: "memory.dram_gbps".into(), value: 1.5 };
        assert_eq!(Setting::parse("machine.memory.dram_gbps=1.5"), Ok(number));
        for bad in ["m", "m=", "=1", "m=1.5", "m=4k", "machine.x=inf", "machine.x=NaN", "m=99999999999999999999"] {
            assert!(Setting::parse(bad).is_err(), "{bad}");
        }
    }
}
