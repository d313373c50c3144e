//! Fuzz target: cells of amounts and dates. The body is `tillbell::alert_reader::fuzzing::figure`, which the tests run as well.
//!
//! Started by `fuzz/run`; not a part of the service.
#![no_main]

use tillbell_fuzz::{Seeds, plant};

libfuzzer_sys::fuzz_target!(init: plant(Seeds::Cells), |data: &[u8]| tillbell::alert_reader::fuzzing::figure(data));
