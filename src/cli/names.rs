//! `tillbell name compare`: what the name rule says, for one pair or a file of pairs.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use super::Desk;
use super::csv::{read_record, write_record};
use super::print::Object;
use crate::domain::name::compare;

#[derive(Subcommand)]
pub(super) enum NameCommand {
    /// Compare the payer name of a payment with the name in a bank alert
    ///
    /// Use it to see why a name matched, or why it did not.
    #[command(after_help = examples![
        "name compare \"Chidi Okafor\" \"OKAFOR CHIDI EMEKA\"",
        "name compare \"Folashade Adesina\" \"ADESINA FOLASHA\" --cut 15",
        "name compare --file pairs.csv",
    ])]
    Compare(CompareArgs),
}

#[derive(Args)]
pub(super) struct CompareArgs {
    /// The payer name that was given with the payment
    #[arg(required_unless_present = "file", requires = "received", conflicts_with = "file")]
    expected: Option<String>,
    /// The payer name that the bank's alert shows
    received: Option<String>,
    /// Compare the columns `left` and `right` of a CSV file, and print CSV
    #[arg(long, value_name = "CSV")]
    file: Option<PathBuf>,
    /// Lengths at which the bank cuts names off, in characters, for example 20,24
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    cut: Vec<usize>,
}

/// Pairs that `--json` gathers from a file; without it they are printed one by one.
const JSON_PAIRS_MAX: usize = 1_000_000;

pub(super) fn run(command: NameCommand, desk: &Desk) -> anyhow::Result<()> {
    let NameCommand::Compare(args) = command;
    if let Some(path) = &args.file {
        return compare_file(path, &args.cut, desk);
    }
    let expected = args.expected.unwrap_or_default();
    let received = args.received.unwrap_or_default();
    let comparison = compare(&expected, &received, &args.cut);
    let object = Object::new()
        .with("expected", expected)
        .with("received", received)
        .with("verdict", comparison.verdict.as_str())
        .with("reason", comparison.reason);
    desk.printer.object(&object)
}

fn compare_file(path: &Path, cut: &[usize], desk: &Desk) -> anyhow::Result<()> {
    let shown = path.display();
    let mut input = BufReader::new(File::open(path).with_context(|| format!("{shown}"))?);
    let head = read_record(&mut input).with_context(|| format!("{shown}"))?.unwrap_or_default();
    let column = |name: &str| head.iter().position(|cell| cell.trim().eq_ignore_ascii_case(name));
    let (Some(left), Some(right)) = (column("left"), column("right")) else {
        bail!("{shown}: the first line must name the columns left and right");
    };
    let mut gathered = Vec::new();
    if !desk.printer.json {
        desk.printer.line("left,right,verdict,reason")?;
    }
    while let Some(cells) = read_record(&mut input).with_context(|| format!("{shown}"))? {
        if cells.iter().all(String::is_empty) {
            continue;
        }
        let cell = |at: usize| cells.get(at).map_or("", String::as_str);
        let (expected, received) = (cell(left), cell(right));
        let comparison = compare(expected, received, cut);
        let verdict = comparison.verdict.as_str();
        if !desk.printer.json {
            desk.printer.line(&write_record([expected, received, verdict, &comparison.reason]))?;
            continue;
        }
        if gathered.len() == JSON_PAIRS_MAX {
            bail!("{shown}: more than {JSON_PAIRS_MAX} pairs; leave out --json");
        }
        let object = Object::new().with("left", expected).with("right", received);
        gathered.push(object.with("verdict", verdict).with("reason", comparison.reason));
    }
    if desk.printer.json { desk.printer.list("results", &[], gathered) } else { Ok(()) }
}
