//! `tillbell completions`, `tillbell man`: what packages ship beside the program, made from the commands themselves.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use super::print::{Object, Printer};

#[derive(Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

#[derive(Args)]
pub(super) struct ManArgs {
    /// Folder for the pages, one for each command; made if it is not there
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

pub(super) fn completions(args: &CompletionsArgs, printer: Printer) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tillbell", &mut script);
    printer.bytes(&script)
}

pub(super) fn man(args: &ManArgs, printer: Printer) -> anyhow::Result<()> {
    let failed = || args.folder.display().to_string();
    std::fs::create_dir_all(&args.folder).with_context(failed)?;
    clap_mangen::generate_to(Cli::command(), &args.folder).with_context(failed)?;
    let pages = std::fs::read_dir(&args.folder).with_context(failed)?.count();
    printer.object(
        &Object::new().with("folder", failed()).with("pages", i64::try_from(pages).unwrap_or(i64::MAX)),
    )
}
