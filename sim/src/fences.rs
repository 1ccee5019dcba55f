//! The strictness of each fence rule: one switch for each rule. `docs/fences.md` says what each level accepts, and why.

use std::fmt;

/// The fences that make an ordinary write safe for a read by the asynchronous proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cover {
    /// No fence is needed.
    Off,
    /// A fence anywhere between the write and the read, by any thread (PTX's causality order).
    #[default]
    Path,
    /// A fence of the writing thread, before it signals others (the order in the CUDA programming guide).
    Strict,
}

/// The severity of a missing fence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Level {
    /// Not reported.
    Off,
    /// A note.
    #[default]
    Note,
    /// A fault.
    Error,
}

/// The level of each rule. The default accepts what correct kernels do in practice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fences {
    /// `async-read`: an ordinary write, then an asynchronous read.
    pub async_read: Cover,
    /// `async-write`: an ordinary access, then an asynchronous write.
    pub async_write: Level,
    /// `tmem-wait`: whether `tcgen05.ld` and `tcgen05.st` stay open until `wait::ld` and `wait::st`.
    pub tmem_wait: bool,
    /// `tcgen05`: `tcgen05.fence` on both sides where tensor memory passes between threads.
    pub tcgen05: Level,
    /// `wgmma`: `wgmma.fence` between other uses of a register and a `wgmma` that uses it.
    pub wgmma: Level,
    /// `warp-arrive`: lanes that are in step before one of them arrives for their warp.
    pub warp_arrive: Level,
    /// `init`: a fence between the `init` of an mbarrier and a signal by an engine or another CTA.
    pub init: Level,
}

impl Default for Fences {
    fn default() -> Self {
        Fences {
            async_read: Cover::Path,
            async_write: Level::Note,
            tmem_wait: true,
            tcgen05: Level::Note,
            // PTX calls the product undefined without the fence, and compilers then serialize it, with a warning at
            // best.
            wgmma: Level::Error,
            warp_arrive: Level::Off,
            init: Level::Error,
        }
    }
}

/// The rules with their levels, strictest first.
pub const RULES: [(&str, &[&str]); 7] = [
    ("async-read", &["strict", "path", "off"]),
    ("async-write", &["error", "note", "off"]),
    ("tmem-wait", &["error", "off"]),
    ("tcgen05", &["error", "note", "off"]),
    ("wgmma", &["error", "note", "off"]),
    ("warp-arrive", &["error", "note", "off"]),
    ("init", &["error", "note", "off"]),
];

/// The reason why a setting is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFence {
    /// No rule has this name.
    #[error("`{0}` is not a fence rule; the rules are {names}", names = RULES.map(|r| r.0).join(", "))]
    Rule(String),
    /// The rule has no such level.
    #[error("`{level}` is not a level of `{rule}`; its levels are {}", levels.join(", "))]
    Level {
        /// The rule.
        rule: &'static str,
        /// The level that was given.
        level: String,
        /// The levels of the rule.
        levels: &'static [&'static str],
    },
}

impl Fences {
    /// Sets one rule to one of its levels.
    pub fn set(&mut self, rule: &str, level: &str) -> Result<(), BadFence> {
        let Some(i) = RULES.iter().position(|r| r.0 == rule) else { return Err(BadFence::Rule(rule.into())) };
        let (rule, levels) = RULES[i];
        if !levels.contains(&level) {
            return Err(BadFence::Level { rule, level: level.into(), levels });
        }
        let named = match level {
            "error" => Level::Error,
            "note" => Level::Note,
            _ => Level::Off,
        };
        match i {
            0 => {
                self.async_read = match level {
                    "strict" => Cover::Strict,
                    "path" => Cover::Path,
                    _ => Cover::Off,
                }
            }
            1 => self.async_write = named,
            2 => self.tmem_wait = named == Level::Error,
            3 => self.tcgen05 = named,
            4 => self.wgmma = named,
            5 => self.warp_arrive = named,
            _ => self.init = named,
        }
        Ok(())
    }

    /// Every rule with its level, in the order of [`RULES`].
    pub fn list(&self) -> [(&'static str, &'static str); 7] {
        let word = |l: Level| match l {
            Level::Error => "error",
            Level::Note => "note",
            Level::Off => "off",
        };
        let cover = match self.async_read {
            Cover::Strict => "strict",
            Cover::Path => "path",
            Cover::Off => "off",
        };
        let wait = if self.tmem_wait { "error" } else { "off" };
        let tensor = [word(self.tcgen05), word(self.wgmma)];
        let levels =
            [cover, word(self.async_write), wait, tensor[0], tensor[1], word(self.warp_arrive), word(self.init)];
        std::array::from_fn(|i| (RULES[i].0, levels[i]))
    }
}

impl fmt::Display for Fences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if *self == Fences::default() { "practice: " } else { "" };
        f.write_str(name)?;
        f.write_str(&self.list().map(|(rule, level)| format!("{rule} {level}")).join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_can_be_set_and_is_named() {
        for (i, (rule, levels)) in RULES.iter().enumerate() {
            for level in *levels {
                let mut f = Fences::default();
                f.set(rule, level).expect("a level");
                let changed = f.list();
                assert_eq!(changed[i], (*rule, *level));
                let others = Fences::default().list();
                assert!((0..RULES.len()).all(|j| j == i || changed[j] == others[j]));
            }
        }
        let mut f = Fences::default();
        assert!(matches!(f.set("async", "off"), Err(BadFence::Rule(_))));
        assert!(matches!(f.set("tmem-wait", "note"), Err(BadFence::Level { .. })));
        assert_eq!(f, Fences::default());
    }
}
