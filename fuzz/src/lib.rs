//! What the fuzz targets start from: the examples of all templates, and for whole mails the files
//! of the folders named in FUZZ_SEEDS. Written into the corpus before libFuzzer reads it.
//!
//! Called by the targets in `fuzz_targets/`; not a part of the service.

use std::path::{Path, PathBuf};

use tillbell::alert_reader::fuzzing;

/// Larger files are no seeds: they make every mutation slow.
const MAX_SEED_BYTES: u64 = 64 * 1024;

/// Which seeds a target takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Seeds {
    Mails,
    Bodies,
    Cells,
}

/// Fills the folder that FUZZ_CORPUS names; without it nothing is written. A corpus that cannot be
/// filled is told, and fuzzing begins with what is there.
pub fn plant(seeds: Seeds) {
    let Some(corpus) = std::env::var_os("FUZZ_CORPUS").map(PathBuf::from) else { return };
    if let Err(error) = write(seeds, &corpus) {
        eprintln!("the seeds could not be written to {}: {error}", corpus.display());
    }
}

fn write(seeds: Seeds, corpus: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(corpus)?;
    let put = |name: &str, bytes: &[u8]| std::fs::write(corpus.join(format!("seed-{name}")), bytes);
    if seeds == Seeds::Cells {
        for (i, cell) in fuzzing::cells().iter().enumerate() {
            put(&i.to_string(), cell.as_bytes())?;
        }
        return Ok(());
    }
    let body = |raw: &[u8]| raw.windows(4).position(|w| w == b"\r\n\r\n").map_or(0, |at| at + 4);
    for (name, raw) in fuzzing::mails() {
        let from = if seeds == Seeds::Bodies { body(&raw) } else { 0 };
        put(&name, &raw[from..])?;
    }
    let folders = std::env::var("FUZZ_SEEDS").unwrap_or_default();
    for folder in folders.split_whitespace().filter(|_| seeds == Seeds::Mails) {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let mail = path.extension().is_some_and(|e| e == "eml");
            if mail && path.metadata()?.len() <= MAX_SEED_BYTES {
                let name = path.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
                put(&name, &std::fs::read(&path)?)?;
            }
        }
    }
    Ok(())
}
