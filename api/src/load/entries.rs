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
    let all = &module.entries;
    let list = |entries: &mut dyn Iterator<Item = (usize, &Entry)>| {
        let named = entries.map(|(n, e)| format!("{n} `{}`", readable_name(&e.name)));
        named.collect::<Vec<_>>().join(", ")
    };
    let choose = "`--entry` takes a number of this list, or a part of a name that no other kernel has: ";
    let Some(name) = name else {
        return match all.as_slice() {
            [one] => Ok(one),
            [] => Err(Error::new(format!("`{file}` has no kernel"))),
            _ => {
                let help = format!("{choose}{}", list(&mut all.iter().enumerate()));
                Err(Error::with_help(format!("`{file}` has {} kernels", all.len()), help))
            }
        };
    };
    if let Some(exact) = all.iter().find(|e| e.name == name) {
        return Ok(exact);
    }
    if let Some(numbered) = name.parse().ok().and_then(|n: usize| all.get(n)) {
        return Ok(numbered);
    }
    let of_name = |e: &Entry| e.name.contains(name) || demangled(&e.name).contains(name);
    let mut found = all.iter().enumerate().filter(|(_, e)| of_name(e)).peekable();
    match (found.next(), found.peek()) {
        (Some((_, one)), None) => Ok(one),
        (Some(first), Some(_)) => {
            let help = format!("{choose}{}", list(&mut std::iter::once(first).chain(found)));
            Err(Error::with_help(format!("`{file}` has several kernels with `{name}` in their name"), help))
        }
        (None, _) => {
            let hint = hint(name, all.iter().map(|e| e.name.as_str()));
            let help = format!("{hint}{choose}{}", list(&mut all.iter().enumerate()));
            Err(Error::with_help(format!("`{file}` has no kernel `{name}`"), help))
        }
    }
}
