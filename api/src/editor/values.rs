//! The values of a kernel's parameters, and facts about its declared names.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use warpline_sim::ir::{Class, Program};
use warpline_sim::words::{count, of};

use super::{DeclarationKind, KernelText, Outline};
use crate::load::Subject;

/// The value of a parameter or header `let`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// Byte range of the declaration: `stages = 3`.
    pub span: Range<usize>,
    /// The name.
    pub name: String,
    /// The value.
    pub value: i64,
    /// Whether the text gives another value, or none: a display adds to the text there.
    pub hidden: bool,
}

/// A sentence on a declared name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// The name.
    pub name: String,
    /// The sentence.
    pub text: String,
}

/// The values of parameters and header `let`s.
pub(super) fn values(kernel: &KernelText, subject: &Subject) -> Vec<Value> {
    let program = &subject.program;
    let valued = [DeclarationKind::Parameter, DeclarationKind::Value];
    let outline = Outline::read(&kernel.text);
    let declared = outline.declarations.iter().filter(|d| valued.contains(&d.kind));
    declared
        .filter_map(|d| {
            let all = program.params.iter().chain(&program.lets);
            let value = all.into_iter().find(|(name, _)| *name == d.name)?.1;
            let written = kernel.text.get(d.extent.clone()).and_then(|t| t.split_once('=')).map(|(_, e)| e.trim());
            let hidden = written.is_none_or(|e| e != value.to_string());
            Some(Value { span: d.extent.clone(), name: d.name.clone(), value, hidden })
        })
        .collect()
}

/// Facts about objects, barriers and roles.
pub(super) fn facts(subject: &Subject) -> Vec<Fact> {
    let p = &subject.program;
    let mbars = p.mbars.iter().map(|b| {
        let needs = of(i64::from(b.count), "arrival");
        (&b.name, format!("{}; a phase completes after {needs}", of(i64::from(b.stages), "mbarrier")))
    });
    let named = p.named.iter().map(|b| (&b.name, format!("named barriers from number {}", b.first)));
    let counters =
        p.counters.iter().map(|c| (&c.name, format!("{} in global memory", of(i64::from(c.len), "counter"))));
    let roles = p.roles.iter().map(|r| {
        let members = if r.members > 1 { format!(" in {} members", r.members) } else { String::new() };
        (&r.name, format!("{}{members}", of(i64::from(r.warps.count_ones()), "warp")))
    });
    let objects = objects(p);
    let others = mbars.chain(named).chain(counters).chain(roles).map(|(name, text)| Fact { name: name.clone(), text });
    objects.chain(others).collect()
}

fn objects(p: &Program) -> impl Iterator<Item = Fact> + '_ {
    p.objects.iter().map(|o| {
        let shape = format!("{} x {} {}", count(o.rows), count(o.cols), o.dtype.name());
        let text = match o.class {
            Class::Global => {
                format!(
                    "{shape} in global memory, {} bytes, used in blocks of {} x {}",
                    count(o.slot_bytes()),
                    o.block[0],
                    o.block[1]
                )
            }
            Class::Reg => format!("{shape} in registers"),
            Class::Mailbox => format!("{} of shared memory", of(i64::from(o.slots), "word")),
            Class::Shared | Class::Tmem => {
                let memory = if o.class == Class::Shared { "shared" } else { "tensor" };
                let slots = i64::from(o.slots);
                let (one, all) = (count(o.slot_bytes()), count(o.slot_bytes() * slots));
                format!("{} of {shape} in {memory} memory, {one} bytes each, {all} in all", of(slots, "slot"))
            }
        };
        Fact { name: o.name.clone(), text }
    })
}
