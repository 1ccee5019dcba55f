//! Names of compiled kernels: as people read them, and as they choose one of a file.

use cpp_demangle::{DemangleOptions, Symbol};
use warpline_import::ptx::{Entry, Module};

use super::hint;
use crate::error::Error;

/// Longest name that is shown whole.
const LONGEST: usize = 80;

/// The name of a kernel as people read it: of a C++ name the function, with the first names of long template arguments.
/// Other names are cut where they are long.
///
/// ```
/// use warpline_api::readable_name;
///
/// assert_eq!(readable_name("_ZN9deep_gemm4gemmILj128EEEvPf"), "deep_gemm::gemm<128>");
/// assert_eq!(readable_name("matmul_kernel"), "matmul_kernel");
/// ```
pub fn readable_name(name: &str) -> String {
    let whole = demangled(name);
    if whole.chars().count() <= LONGEST {
        return whole;
    }
    let cut = |most: usize| whole.chars().take(most).collect::<String>();
    // The arguments of the first argument are what makes names long.
    match whole.match_indices('<').nth(1) {
        Some((at, _)) if at <= LONGEST && name.starts_with("_Z") => format!("{}<...>...>", &whole[..at]),
        _ if name.starts_with("_Z") && whole.contains('<') => format!("{}...>", cut(LONGEST - 4)),
        _ => format!("{}...", cut(LONGEST - 3)),
    }
}

/// A C++ name without its parameters, or the name itself.
fn demangled(name: &str) -> String {
    let options = DemangleOptions::new().no_params().no_return_type().hide_expression_literal_types();
    let symbol = name.starts_with("_Z").then(|| Symbol::new(name).ok()).flatten();
    symbol.and_then(|s| s.demangle_with_options(&options).ok()).unwrap_or_else(|| name.to_string())
}

/// The kernel that a name means: the whole name, a part of it that no other kernel has, or its number in the file.
/// Without a name the only kernel.
///
/// # Errors
/// A file without kernels, a name that none has, and one that several have.
pub(super) fn entry_of<'m>(module: &'m Module, file: &str, name: Option<&str>) -> Result<&'m Entry, Error> {
    let all: Vec<(usize, &Entry)> = module.entries.iter().enumerate().collect();
    let choose = |of: &[(usize, &Entry)]| {
        let list: Vec<String> = of.iter().map(|(n, e)| format!("{n} `{}`", readable_name(&e.name))).collect();
        let list = list.join(", ");
        format!("`--entry` takes a number of this list, or a part of a name that no other kernel has: {list}")
    };
    let Some(name) = name else {
        return match all.as_slice() {
            [(_, one)] => Ok(one),
            [] => Err(Error::new(format!("`{file}` has no kernel"))),
            _ => Err(Error::with_help(format!("`{file}` has {} kernels", all.len()), choose(&all))),
        };
    };
    let exact = module.entries.iter().find(|e| e.name == name);
    if let Some(e) = exact.or_else(|| module.entries.get(name.parse::<usize>().ok()?)) {
        return Ok(e);
    }
    let of_name = |e: &Entry| e.name.contains(name) || demangled(&e.name).contains(name);
    let found: Vec<(usize, &Entry)> = all.iter().copied().filter(|(_, e)| of_name(e)).collect();
    match found.as_slice() {
        [(_, one)] => Ok(one),
        [] => {
            let hint = hint(name, all.iter().map(|(_, e)| e.name.as_str()));
            Err(Error::with_help(format!("`{file}` has no kernel `{name}`"), format!("{hint}{}", choose(&all))))
        }
        several => {
            Err(Error::with_help(format!("`{file}` has several kernels with `{name}` in their name"), choose(several)))
        }
    }
}
