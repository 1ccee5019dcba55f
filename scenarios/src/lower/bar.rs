//! mbarrier and mailbox operands.

use warpline_sim::ir::{BarRef, BarrierCta, Class, Expr, Place, Selection, Stages, TileRef};

use super::place::Want;
use super::{Lower, Meaning};
use crate::ast::{self, BarAt, Ident};
use crate::suggest::did_you_mean;

impl Lower<'_> {
    /// A mailbox slot, with its version as the tile.
    pub(super) fn mailbox(&mut self, p: &ast::Place, version: Option<&ast::Expr>, write: bool) -> Option<Place> {
        let want = Want { classes: &[Class::Mailbox], write, partner: None };
        let mut place = self.place(p, want)?.place;
        if let Some(v) = version {
            let at = vec![self.expr(v)?];
            place.tile = Some(TileRef { obj: place.obj, at, sel: Selection::default() });
        }
        Some(place)
    }

    /// An mbarrier.
    pub(super) fn bar(&mut self, b: &ast::Bar) -> Option<BarRef> {
        let id = self.mbar(&b.name)?;
        let stages = self.program.mbars[id as usize].stages;
        let stage = match &b.index {
            Some(e) => self.stage(&b.name, e, stages)?,
            None if stages > 1 => {
                let d = self
                    .diag(
                        &b.span,
                        format!("`{}` is an array of {stages}, and none is named", b.name.text),
                        "an index was expected",
                    )
                    .help(format!("write `{}[i % {stages}]`", b.name.text));
                self.error(d);
                return None;
            }
            None => Expr::Const(0),
        };
        let at = match &b.at {
            BarAt::Own => BarrierCta::Own,
            BarAt::Cta(e) => BarrierCta::Cta(self.expr(e)?),
            BarAt::Ctas(e) => BarrierCta::Ctas(self.expr(e)?),
        };
        Some(BarRef { bar: id, stage, at })
    }

    /// The array of mbarriers with this name.
    /// The stages that an `init` names.
    pub(super) fn stages(&mut self, s: &ast::Stages) -> Option<Stages> {
        let bar = self.mbar(&s.name)?;
        let stages = self.program.mbars[bar as usize].stages;
        let stage = match &s.index {
            Some(e) => Some(self.stage(&s.name, e, stages)?),
            None => None,
        };
        Some(Stages { bar, stage })
    }

    /// An index in an array of so many mbarriers.
    fn stage(&mut self, name: &Ident, e: &ast::Expr, stages: u32) -> Option<Expr> {
        let stage = self.expr(e)?;
        if let Some(v) = stage.constant()
            && !(0..stages as i64).contains(&v)
        {
            let message = format!("barrier {v} of `{}`, which has {stages}", name.text);
            let d = self.diag(&e.span, message, format!("0 to {} were expected", stages - 1));
            self.value_error(d);
        }
        Some(stage)
    }

    pub(super) fn mbar(&mut self, name: &Ident) -> Option<u16> {
        if !self.names.contains_key(&name.text) && !self.skipped.contains(&name.text) {
            let bars = self.program.mbars.iter().map(|b| b.name.clone()).collect::<Vec<_>>();
            let mut d = self.diag(&name.span, format!("unknown name `{}`", name.text), "an mbarrier was expected here");
            d.help = did_you_mean(&name.text, bars.iter().map(String::as_str))
                .or_else(|| Some(format!("declare it: `mbar {}[stages] (1)`", name.text)));
            self.error(d);
            return None;
        }
        match self.lookup(&name.text, &name.span, "an mbarrier", |m| matches!(m, Meaning::Mbar(_)))? {
            Meaning::Mbar(id) => Some(id),
            _ => None,
        }
    }
}
