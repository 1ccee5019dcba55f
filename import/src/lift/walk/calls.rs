//! Calls of functions that only compute.

use std::collections::BTreeSet;

use crate::lift::facts::slice::{acts, unread, writes};
use crate::ptx::{Arg, Error, Inst};

use super::Walk;

impl Walk<'_, '_> {
    /// A call of a function. Its results are data.
    pub(crate) fn call(&mut self, i: &Inst) -> Result<(), Error> {
        let called = name(i);
        let system = matches!(called, Some("vprintf" | "__assertfail" | "malloc" | "free"));
        if !system && !called.is_some_and(|name| self.computes(name, &mut BTreeSet::new())) {
            return Err(self.s.error(
                i,
                "calls are not followed, other than of functions that only compute",
                "code that is inlined, or a function without shared memory and synchronization",
            ));
        }
        let mut results = Vec::new();
        writes(i, &mut |r| results.push(r));
        for r in results {
            let v = self.opaque_lanes(format!("the call at line {}", i.line));
            self.set(r, v);
        }
        Ok(())
    }

    /// Whether a function and all that it calls have no effect on shared memory, barriers and streams.
    fn computes<'n>(&'n self, function: &'n str, seen: &mut BTreeSet<&'n str>) -> bool {
        let Some(code) = self.s.module.functions.get(function) else { return false };
        if !seen.insert(function) {
            return true;
        }
        code.iter().all(|i| match i.op.as_str() {
            "call" => name(i).is_some_and(|name| name == "vprintf" || self.computes(name, seen)),
            "st" | "ld" => ["param", "local", "global", "const"].iter().any(|space| i.has(space)) && !i.has("async"),
            "exit" | "trap" | "brkpt" => false,
            _ => !acts(i) && !unread(i),
        })
    }
}

/// The name of the function that an instruction calls.
fn name(i: &Inst) -> Option<&str> {
    i.args.iter().find_map(|a| if let Arg::Name(n) = a { Some(n.as_str()) } else { None })
}
