//! Numbers set from the command line.

use crate::suggest;
use warpline_sim::machine::{KEYS, Key, Kind, Machine, Param, key_named};

/// Source of a number that [`apply`] set.
pub const SET: &str = "set on the command line";

/// Sets one number of a machine, for `--set machine.dram.gbps=4000`.
///
/// The key may be written in full (`memory.dram_gbps`) or with `machine.` before it. It may lack its table and have
/// dots for underscores (`dram.gbps`) if only one key reads so. A missing number is added. The number loses its spread.
pub fn apply(machine: &mut Machine, key: &str, value: f64) -> Result<(), String> {
    let found = find(key)?;
    let range = found.range();
    if !range.contains(value) {
        return Err(format!("`{}` cannot be {value}: its range is {range}", found.key));
    }
    let param =
        Param { value, unit: found.unit.to_string(), kind: Kind::Estimated, source: SET.to_string(), spread: None };
    machine.params.insert(found.key.to_string(), param);
    Ok(())
}

/// The key that `written` names.
fn find(written: &str) -> Result<&'static Key, String> {
    let name = written.strip_prefix("machine.").unwrap_or(written);
    if let Some(key) = key_named(name) {
        return Ok(key);
    }
    let flat = flatten(name);
    let alike: Vec<&Key> = KEYS.iter().filter(|k| flatten(k.key) == flat || flatten(tail(k.key)) == flat).collect();
    match alike.as_slice() {
        [one] => Ok(one),
        [] => {
            let names = KEYS.iter().map(|k| k.key);
            // A key without its table resembles the rest of the name more.
            let meant = suggest::closest(name, names).or_else(|| {
                let near = suggest::closest(&flat, KEYS.iter().map(|k| tail(k.key)))?;
                KEYS.iter().map(|k| k.key).find(|k| tail(k) == near)
            });
            let help = meant.map_or(String::new(), |k| format!("; did you mean `{k}`?"));
            Err(format!("no machine has a parameter `{name}`{help}"))
        }
        several => {
            let keys: Vec<&str> = several.iter().map(|k| k.key).collect();
            Err(format!("`{name}` could be {}", suggest::one_of(&keys)))
        }
    }
}

fn tail(key: &str) -> &str {
    key.split_once('.').map_or(key, |(_, rest)| rest)
}

fn flatten(key: &str) -> String {
    key.replace('.', "_")
}
