//! The scenarios and kernels that come with the program, by name: `metal/triple_buffer`.

use crate::suggest::did_you_mean;

/// `(path, text)`, sorted by path; made by `build.rs`.
static FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

fn get(path: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(p, _)| *p == path).copied()
}

fn with_extension(name: &str, extension: &str) -> String {
    if name.ends_with(extension) { name.into() } else { format!("{name}{extension}") }
}

/// The file and text of an embedded scenario, by its name with or without `.toml`.
pub fn embedded(name: &str) -> Option<(&'static str, &'static str)> {
    get(&with_extension(name, ".toml"))
}

/// The file and text of an embedded kernel, by its name with or without `.pipe`: `metal/triple_buffer`.
pub fn embedded_kernel(name: &str) -> Option<(&'static str, &'static str)> {
    get(&with_extension(name, ".pipe"))
}

/// The embedded kernel that an embedded scenario names, relative to the scenario's folder.
pub fn embedded_kernel_of(scenario: &str, kernel: &str) -> Option<(&'static str, &'static str)> {
    let folder = scenario.rsplit_once('/').map_or("", |(f, _)| f);
    embedded_kernel(&format!("{folder}/{kernel}")).or_else(|| embedded_kernel(kernel))
}

/// Names of the embedded scenarios, sorted.
pub fn embedded_names() -> Vec<&'static str> {
    FILES.iter().filter_map(|(p, _)| p.strip_suffix(".toml")).collect()
}

/// Names of the embedded kernels, sorted.
pub fn embedded_kernel_names() -> Vec<&'static str> {
    FILES.iter().filter_map(|(p, _)| p.strip_suffix(".pipe")).collect()
}

/// What to say about a scenario that does not exist.
pub fn suggestion(name: &str) -> Option<String> {
    did_you_mean(name, embedded_names())
}
