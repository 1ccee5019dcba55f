//! Explores the semantics of warpline-sim in every order.
