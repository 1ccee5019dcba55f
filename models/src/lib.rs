//! Machine descriptions: every number with unit, kind and source.
