//! `tillbell name compare`: what the name rule says, for one pair or a file of pairs.

use std::fs::File;
use std::io::{Read, Take};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use csv::StringRecord;

use super::Desk;
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
/// Bytes of one record of a file.
const RECORD_BYTES_MAX: u64 = 64 * 1024;
/// Bytes that are read of a file at once.
const READ_BYTES: u16 = 8 * 1024;

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
    let mut records = Records::new(File::open(path).with_context(|| format!("{shown}"))?);
    let head = records.next().with_context(|| format!("{shown}"))?.unwrap_or_default();
    let column = |name: &str| head.iter().position(|cell| cell.trim().eq_ignore_ascii_case(name));
    let (Some(left), Some(right)) = (column("left"), column("right")) else {
        bail!("{shown}: the first line must name the columns left and right");
    };
    let mut gathered = Vec::new();
    if !desk.printer.json {
        desk.printer.line("left,right,verdict,reason")?;
    }
    while let Some(cells) = records.next().with_context(|| format!("{shown}"))? {
        if cells.iter().all(str::is_empty) {
            continue;
        }
        let cell = |at: usize| cells.get(at).unwrap_or_default();
        let (expected, received) = (cell(left), cell(right));
        let comparison = compare(expected, received, cut);
        let verdict = comparison.verdict.as_str();
        if !desk.printer.json {
            desk.printer.line(&csv_line([expected, received, verdict, &comparison.reason])?)?;
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

/// The records of a CSV file. The reader knows no limit of its own, and a missing quote makes one record of the
/// rest of the file: so it is given no more bytes for a record than the longest may have.
struct Records<R> {
    reader: csv::Reader<Take<R>>,
}

impl<R: Read> Records<R> {
    fn new(input: R) -> Records<R> {
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true).buffer_capacity(usize::from(READ_BYTES));
        Records { reader: builder.from_reader(input.take(0)) }
    }

    /// The next record; `None` at the end.
    fn next(&mut self) -> anyhow::Result<Option<StringRecord>> {
        let (begun, number) = (self.reader.position().byte(), self.reader.position().record() + 1);
        // Some of the longest record may lie in the reader's memory already. What ends at the limit without being
        // at its end is too long for certain.
        self.reader.get_mut().set_limit(RECORD_BYTES_MAX + u64::from(READ_BYTES));
        let mut record = StringRecord::new();
        let read = self.reader.read_record(&mut record);
        if self.reader.position().byte() - begun >= RECORD_BYTES_MAX {
            bail!("record {number} is longer than {RECORD_BYTES_MAX} bytes; is a quote missing?");
        }
        match read.map_err(csv::Error::into_kind) {
            Ok(is_record) => Ok(is_record.then_some(record)),
            Err(csv::ErrorKind::Utf8 { .. }) => bail!("record {number}: the file is not UTF-8"),
            Err(csv::ErrorKind::Io(error)) => Err(error.into()),
            Err(other) => bail!("record {number} cannot be read: {other:?}"),
        }
    }
}

/// Cells as one line of CSV, without its end.
fn csv_line<'a>(cells: impl IntoIterator<Item = &'a str>) -> anyhow::Result<String> {
    let mut line = Vec::new();
    let mut writer = csv::Writer::from_writer(&mut line);
    writer.write_record(cells)?;
    writer.flush()?;
    drop(writer);
    let mut line = String::from_utf8(line)?;
    line.pop();
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for record in [vec!["a", "b"], vec!["", ""], vec!["x, y", "say \"hi\"", "two\nlines"], vec!["é"]] {
            let line = csv_line(record.iter().copied()).unwrap() + "\r\n";
            let mut records = Records::new(line.as_bytes());
            assert_eq!(records.next().unwrap().unwrap(), record);
            assert_eq!(records.next().unwrap(), None);
        }
    }

    #[test]
    fn an_open_quote_ends_at_the_limit() {
        let text = format!("left,right\r\n\"{}", "a\n".repeat(1_000_000));
        let mut unread = text.as_bytes();
        let mut records = Records::new(&mut unread);
        assert_eq!(records.next().unwrap().unwrap(), vec!["left", "right"]);
        let told = records.next().unwrap_err().to_string();
        assert_eq!(told, "record 2 is longer than 65536 bytes; is a quote missing?");
        assert!(unread.len() > 1_900_000, "{} bytes were left unread", unread.len());
    }

    #[test]
    fn long_records_are_read_up_to_the_limit_and_no_further() {
        let of = |bytes: u64| "a".repeat(usize::try_from(bytes).unwrap() - 1) + "\n";
        let text = format!("b,c\n{}{}{}", of(RECORD_BYTES_MAX - 1), of(5), of(RECORD_BYTES_MAX - 1));
        let mut records = Records::new(text.as_bytes());
        let lengths = std::iter::from_fn(|| records.next().unwrap()).map(|one| one.as_slice().len());
        assert_eq!(lengths.collect::<Vec<_>>(), [2, 65_534, 4, 65_534]);
        assert!(Records::new(of(RECORD_BYTES_MAX).as_bytes()).next().is_err());
    }

    #[test]
    fn what_is_no_utf8_is_named_by_its_record() {
        let mut records = Records::new(&b"\xef\xbb\xbfleft,right\r\n\r\na,b\r\nc,\xff\r\n"[..]);
        assert_eq!(
            records.next().unwrap().unwrap(),
            vec!["left", "right"],
            "without the mark of its encoding"
        );
        assert_eq!(records.next().unwrap().unwrap(), vec!["a", "b"]);
        assert_eq!(records.next().unwrap_err().to_string(), "record 3: the file is not UTF-8");
    }
}
