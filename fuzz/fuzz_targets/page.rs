//! Fuzz target: HTML bodies. The body is `tillbell::alert_reader::fuzzing::page`, which the tests run as well.
//!
//! Started by `fuzz/run`; not a part of the service.
#![no_main]

use tillbell_fuzz::{Seeds, plant};

libfuzzer_sys::fuzz_target!(init: plant(Seeds::Bodies), |data: &[u8]| tillbell::alert_reader::fuzzing::page(data));
