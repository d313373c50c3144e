//! Reading and writing of comma-separated lines, as RFC 4180 has them: quotes, doubled quotes,
//! line ends inside quotes.
//!
//! One record at a time, each of bounded length. Only `name compare --file` reads such files.

use std::io::BufRead;

use anyhow::{Context, bail};

/// Bytes of one record.
const RECORD_BYTES_MAX: usize = 64 * 1024;

/// Reads the next record into its cells; `None` at the end.
pub(super) fn read_record(input: &mut impl BufRead) -> anyhow::Result<Option<Vec<String>>> {
    let mut text = String::new();
    loop {
        let before = text.len();
        let limit = u64::try_from(RECORD_BYTES_MAX).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let read = std::io::Read::take(&mut *input, limit).read_until(b'\n', &mut bytes)?;
        text.push_str(std::str::from_utf8(&bytes).context("the file is not UTF-8")?);
        if text.len() >= RECORD_BYTES_MAX {
            bail!("a record is longer than {RECORD_BYTES_MAX} bytes; is a quote missing?");
        }
        if read == 0 && before == 0 {
            return Ok(None);
        }
        // An odd number of quotes: the cell goes on in the next line.
        if text.matches('"').count().is_multiple_of(2) || read == 0 {
            let record = text.trim_end_matches('\n').trim_end_matches('\r');
            return Ok(Some(cells(record.trim_start_matches('\u{feff}'))));
        }
    }
}

fn cells(record: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    let mut signs = record.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' if quoted && signs.peek() == Some(&'"') => {
                signs.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.is_empty() => quoted = true,
            ',' if !quoted => all.push(std::mem::take(&mut cell)),
            sign => cell.push(sign),
        }
    }
    all.push(cell);
    all
}

/// Cells as one line, without its end.
pub(super) fn write_record<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let quoted = |cell: &str| {
        if cell.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.to_owned()
        }
    };
    cells.into_iter().map(quoted).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for record in [vec!["a", "b"], vec!["", ""], vec!["x, y", "say \"hi\"", "two\nlines"], vec!["é"]] {
            let line = write_record(record.iter().copied()) + "\r\n";
            let mut input = line.as_bytes();
            assert_eq!(read_record(&mut input).unwrap().unwrap(), record);
            assert_eq!(read_record(&mut input).unwrap(), None);
        }
    }

    #[test]
    fn an_open_quote_ends_at_the_limit() {
        let text = format!("\"{}", "a\n".repeat(RECORD_BYTES_MAX));
        assert!(read_record(&mut text.as_bytes()).is_err());
    }
}
