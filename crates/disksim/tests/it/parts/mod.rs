//! Tests of single parts of the crate.

mod lexer;
mod validate;
