//! The program: allocator, cryptography, arguments; everything else is the library's.

use std::process::ExitCode;

/// Many small buffers are made and dropped on every thread; this allocator keeps them local.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Several crates could bring a provider; the first one installed is the process's.
    if rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
        eprintln!("tillbell: another TLS provider is installed already");
        return ExitCode::FAILURE;
    }
    tillbell::cli::run(std::env::args_os())
}
