//! Accesses of threads to shared memory of any CTA of the cluster, and stores that complete bytes on a barrier.

use crate::lift::tree::{Effect, Run, Touch};
use crate::lift::walk::Walk;
use crate::lift::walk::values::bytes_of;
use crate::ptx::{Error, Inst};
use crate::symbolic::Term;

impl Walk<'_, '_> {
    /// Accesses of threads to shared memory, of their own CTA or of the CTAs that the addresses name. With `bar`, the bytes
    /// complete on a barrier of the CTA that receives them.
    pub(crate) fn access(
        &mut self,
        at: usize,
        i: &Inst,
        what: Touch,
        runs: Vec<Run>,
        bar: Option<Term>,
    ) -> Result<(), Error> {
        let mut by_cta: Vec<(Option<Term>, Vec<Run>)> = Vec::new();
        for (t, n) in runs {
            let (near, cta) = self.s.remote(t);
            match by_cta.iter_mut().find(|(c, _)| *c == cta) {
                Some((_, list)) => list.push((near, n)),
                None => by_cta.push((cta, vec![(near, n)])),
            }
        }
        let bar = bar.map(|t| self.s.remote(t));
        for (n, (cta, runs)) in by_cta.into_iter().enumerate() {
            let e = match bar {
                Some((_, there)) if there != cta => {
                    let message = format!("`{}` signals a barrier of another CTA than it stores to", i.name());
                    return Err(self.s.error(i, message, "data and barrier of one CTA"));
                }
                Some((bar, _)) => Effect::Far { what, runs, cta, bar: Some(bar) },
                None if cta.is_none() => Effect::Touch(what, runs),
                None => Effect::Far { what, runs, cta, bar: None },
            };
            self.push(at, n as u8, e)?;
        }
        Ok(())
    }

    /// `st.async` and `red.async`: address, value and barrier.
    pub(crate) fn async_store(&mut self, at: usize, i: &Inst, what: Touch) -> Result<(), Error> {
        let bytes_on_barrier = i.mods.iter().any(|m| m.starts_with("mbarrier::complete_tx"));
        if !bytes_on_barrier || i.args.len() != 3 {
            return Err(self.unknown(i));
        }
        let v = self.address(i.arg(0))?;
        let runs = self.runs(i, &v, bytes_of(i), 32)?;
        let bar = self.same(i, i.arg(2), "barrier")?;
        self.access(at, i, what, runs, Some(bar))
    }
}
