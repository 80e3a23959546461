//! Tests of the library as its users see it. One program: a program for each of these files would take the compiler and the linker
//! several minutes more.

mod bm3kl;
mod conformance;
mod draws;
mod evaluate;
mod forged;
mod hostile;
mod margin;
mod margin_numbers;
mod mixed;
mod mkboost;
mod model;
mod online;
mod rules;
mod sparse;
mod stack;
mod svm;
mod views;
