//! Tests of the command line, one program: each would have the whole library in it.

#[cfg(target_os = "linux")]
mod attack;
mod book;
mod common;
mod control;
mod examples;
mod golden;
mod hostile;
mod kill;
mod lists;
mod malformed;
mod online;
mod pages;
mod results;
mod width;
