//! The parameters of a kernel, for listing and completion.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::diag::Diagnostic;

use super::{Lower, Meaning};
use crate::Inputs;
use crate::ast::Span;

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name.
    pub name: String,
    /// Default value, if it does not depend on another parameter.
    pub default: Option<i64>,
    /// Whether the parameter has a default.
    pub optional: bool,
    /// Byte range of the declaration.
    pub span: Span,
}

/// The parameters of a kernel, in order.
pub fn parameters(file: &str, text: &str) -> Result<Vec<Parameter>, Vec<Diagnostic>> {
    let parsed = crate::parse::parse(file, text);
    let Some(kernel) = parsed.kernel else { return Err(parsed.errors) };
    let (set, none) = (BTreeMap::new(), BTreeSet::new());
    let inputs = Inputs { set: &set, cores: None };
    let mut l = Lower::new(file, text, &kernel, &none, (&inputs, &set), None, Vec::new());
    let mut all = Vec::new();
    for p in &kernel.params {
        let default = p.default.as_ref().and_then(|e| l.constant(e, "a default"));
        l.define(&p.name.text, &p.name.span, Meaning::Value(default, None));
        let optional = p.default.is_some();
        all.push(Parameter { name: p.name.text.clone(), default, optional, span: p.name.span.clone() });
    }
    Ok(all)
}
