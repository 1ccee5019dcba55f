//! A kernel text with places where a guarded statement can stand.

use super::guard::{Aim, Guard, Scope};
use crate::dice::Dice;

/// A place of a template: a line `@name` that becomes statements.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// Name of the line.
    pub(super) place: &'static str,
    /// The statement in the correct kernel; empty for nothing.
    pub(super) normal: String,
    /// The statement where the guard holds; empty for nothing.
    pub(super) guarded: String,
    /// Whether the kernel with the guarded statement is also correct.
    pub(super) harmless: bool,
    /// Index of the scope that its guard may use.
    pub(super) scope: usize,
}

/// A parameter that sets a count.
#[derive(Clone, Debug)]
pub(super) struct Count {
    /// Name of the count in the text.
    pub(super) name: String,
    /// Name of the parameter; the same as `name` where the count is the parameter itself.
    pub(super) param: String,
    /// Factor from the count to the parameter.
    pub(super) unit: i64,
    /// The value given.
    pub(super) given: i64,
    /// Whether it is a run-time trip count, not a parameter.
    pub(super) any: bool,
}

/// A kernel text with sites.
#[derive(Clone, Debug, Default)]
pub(super) struct Template {
    /// Name of its machine.
    pub(super) machine: &'static str,
    /// Lines of the header after `kernel` and the `let`s of counts, without indentation.
    pub(super) header: Vec<String>,
    /// Lines of statements, indented from zero; lines `@name` are sites.
    pub(super) body: Vec<String>,
    /// Parameters.
    pub(super) counts: Vec<Count>,
    /// Names that guards may use, from the innermost place outward.
    pub(super) scopes: Vec<Scope>,
    /// Sites.
    pub(super) sites: Vec<Site>,
    /// Values to try, besides those that the guards name.
    pub(super) tries: Vec<String>,
}

impl Template {
    /// Adds the lines of a text, indented by `by` levels.
    pub(super) fn lines(&mut self, by: usize, text: &str) {
        let lines = text.lines().filter(|l| !l.trim().is_empty());
        self.body.extend(lines.map(|l| format!("{}{l}", "  ".repeat(by))));
    }

    /// Adds a site at which a guarded statement is a fault.
    pub(super) fn fault(&mut self, place: &'static str, scope: usize, normal: &str, guarded: &str) {
        self.site(place, scope, (normal, guarded), false);
    }

    /// Adds a site at which a guarded statement is as correct as the normal one.
    pub(super) fn harmless(&mut self, place: &'static str, scope: usize, normal: &str, guarded: &str) {
        self.site(place, scope, (normal, guarded), true);
    }

    fn site(&mut self, place: &'static str, scope: usize, (normal, guarded): (&str, &str), harmless: bool) {
        let (normal, guarded) = (normal.to_string(), guarded.to_string());
        self.sites.push(Site { place, normal, guarded, harmless, scope });
    }

    /// Writes the kernel: one to three sites guarded, all others as in the correct kernel.
    pub(super) fn write(&self, dice: &mut Dice) -> String {
        let (percent_faulty, percent_harmless) = (45, 25);
        let roll = dice.range(1, 100);
        let want_harmless = roll > percent_faulty && roll <= percent_faulty + percent_harmless;
        let aim = if roll <= percent_faulty || want_harmless { Aim::Sometimes } else { Aim::Never };
        let candidates: Vec<&Site> = self.sites.iter().filter(|s| s.harmless == want_harmless).collect();
        let mut chosen: Vec<(&Site, Guard)> = Vec::new();
        for _ in 0..*dice.pick(&[1, 1, 1, 2, 3]) {
            if candidates.is_empty() {
                break;
            }
            let site = *dice.pick(&candidates);
            if chosen.iter().all(|(s, _)| s.place != site.place) {
                chosen.push((site, self.scopes[site.scope].guard(dice, aim)));
            }
        }
        let mut text = self.head(&chosen);
        for line in &self.body {
            let bare = line.trim_start();
            let indent = &line[..line.len() - bare.len()];
            let Some(place) = bare.strip_prefix('@') else {
                text += &format!("  {line}\n");
                continue;
            };
            let split = |s: &str| s.lines().map(str::to_string).collect::<Vec<_>>();
            let lines = match chosen.iter().find(|(s, _)| s.place == place) {
                Some((site, guard)) => guard.around(&split(&site.guarded), &split(&site.normal)),
                None => self.sites.iter().find(|s| s.place == place).map(|s| split(&s.normal)).unwrap_or_default(),
            };
            lines.iter().for_each(|l| text += &format!("  {indent}{l}\n"));
        }
        text
    }

    fn head(&self, chosen: &[(&Site, Guard)]) -> String {
        let mut text = format!("// machine: {}\n", self.machine);
        for (_, guard) in chosen {
            if guard.witness.is_empty() {
                continue;
            }
            let of_count = |c: &Count| Some(format!("{} = {}", c.param, guard.witness.get(&c.name)? * c.unit));
            let mut values: Vec<String> = self.counts.iter().filter_map(of_count).collect();
            values.extend(guard.witness.get("cta.id").map(|id| format!("cta.id = {id}")));
            text += &format!("// try: {}\n", values.join(", "));
        }
        self.tries.iter().for_each(|values| text += &format!("// try: {values}\n"));
        let params: Vec<String> =
            self.counts.iter().filter(|c| !c.any).map(|c| format!("{} = {}", c.param, c.given * c.unit)).collect();
        text += &format!("kernel t({})\n", params.join(", "));
        for c in self.counts.iter().filter(|c| !c.any && c.name != c.param) {
            text += &format!("  let {} = {} / {}\n", c.name, c.param, c.unit);
        }
        self.header.iter().for_each(|l| text += &format!("  {l}\n"));
        for c in self.counts.iter().filter(|c| c.any) {
            text += &format!("  trips {} = any run {}\n", c.name, c.given);
        }
        text
    }
}
