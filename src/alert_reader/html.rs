//! HTML to what a person sees of it: rows of cells, and apart from them what is hidden.
//!
//! Size and nesting are checked before the parser runs, because its time grows with the
//! square of the nesting. Hidden text is never a value; when it looks like a part of an alert
//! it is reported, so that the mail goes to a person. Knows no bank.

mod colour;
mod cost;
pub mod markup_boundaries;
mod sheet;
mod style;
mod unclosed_markup;

use scraper::node::Element;
use scraper::{ElementRef, Html, Node};

use super::mime::MAX_HTML_BYTES;
use super::text_table::{MAX_ROWS, RAISED, TextTable, collapse};
use cost::cost;
use sheet::StyleSheet;
use style::ComputedStyle;

/// Elements in elements.
pub const MAX_NESTING: usize = 256;
/// Formatting that the parser has to open again because blocks ended before it: each block may
/// copy every open element, and a quarter of a megabyte could become gigabytes.
const MAX_REOPENED: usize = 50_000;
/// Characters of hidden text kept for the judgement.
const MAX_HIDDEN_CHARS: usize = 16 * 1024;

/// What a part shows and what it hides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub table: TextTable,
    /// Text no reader sees, collapsed.
    pub hidden: String,
    /// The mail forces the direction of writing, or lets its style write words: what is seen is
    /// not what is read.
    pub disguised: bool,
    /// The style has parts that are not followed here, and text is shown with them.
    pub unread_style: bool,
    /// A figure is crossed out.
    pub struck_figure: bool,
    /// Markup took in what stood behind it, or the mail ends inside of a tag: rows may be missing.
    pub unclosed_markup: bool,
}

/// Reads a part. The error is the reason it cannot be read.
pub fn read(html: &str) -> Result<Page, String> {
    if html.len() > MAX_HTML_BYTES {
        return Err(format!("the HTML is larger than {MAX_HTML_BYTES} bytes"));
    }
    let cost = cost(html);
    if cost.nesting > MAX_NESTING {
        return Err(format!("the HTML is nested deeper than {MAX_NESTING} levels"));
    }
    if cost.reopened > MAX_REOPENED {
        return Err("the HTML has too many unclosed formatting tags".into());
    }
    let end = unclosed_markup::end_name(html);
    let document = match &end {
        Some(end) => Html::parse_document(&format!("{html}<{end}>")),
        None => Html::parse_document(html),
    };
    let unclosed_markup = unclosed_markup::by_what_is_dropped(html)
        || end.is_none_or(|end| unclosed_markup::found(&document, &end));
    let (mut blocks, mut elements) = (Vec::new(), 0);
    for node in document.tree.nodes() {
        let Node::Element(e) = node.value() else { continue };
        elements += sheet::cost(e);
        if e.name() == "style" {
            blocks.push(node.children().filter_map(|c| c.value().as_text().map(|t| t.to_string())).collect());
        }
    }
    let mut walk = Walk { styles: StyleSheet::parse(&blocks, elements), ..Walk::default() };
    // Comments beside the root element stand outside of what is walked.
    for comment in document.tree.root().children().filter_map(|n| n.value().as_comment()) {
        walk.comment(comment);
    }
    let root = document.root_element();
    let look = ComputedStyle::default().within(root, &mut walk.styles)?;
    walk.children(root, &look, &mut Vec::new())?;
    walk.end_row();
    let mut hidden = collapse(&walk.hidden);
    hidden.truncate(hidden.floor_char_boundary(MAX_HIDDEN_CHARS));
    let disguised = walk.turned || walk.styles.writes;
    let unread_style = walk.unread || walk.styles.unread;
    let mut table = TextTable { rows: walk.rows, ..TextTable::default() };
    for (cell, blanks) in &walk.blanks {
        table.lost(cell, *blanks);
    }
    Ok(Page { table, hidden, disguised, unread_style, struck_figure: walk.struck, unclosed_markup })
}

/// Whether hidden text could be meant to be taken for an alert: figures or the words of one.
pub fn looks_like_alert(hidden: &str) -> bool {
    hidden.bytes().filter(u8::is_ascii_digit).count() >= 3 || speaks_of_money(hidden)
}

fn speaks_of_money(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["₦", "credit", "debit", "ngn", "amount"].iter().any(|word| lower.contains(word))
}

#[derive(Default)]
struct Walk {
    styles: StyleSheet,
    rows: Vec<Vec<String>>,
    /// A raised, lowered, smaller or larger text began or ended behind a digit.
    seam: bool,
    /// Blanks that cells had at their ends, apart from line ends and indents of the source.
    blanks: Vec<(String, usize)>,
    row: Vec<String>,
    cell: String,
    /// Inside a `td`: how many cells deep.
    cells: usize,
    hidden: String,
    turned: bool,
    unread: bool,
    struck: bool,
}

impl Walk {
    /// `above` are the elements around the children, the outermost first.
    fn children<'a>(
        &mut self,
        node: ElementRef<'a>,
        look: &ComputedStyle,
        above: &mut Vec<&'a Element>,
    ) -> Result<(), String> {
        // The parser may invent elements, so the built tree is bounded as well.
        if above.len() > 2 * MAX_NESTING {
            return Err(format!("the HTML is nested deeper than {MAX_NESTING} levels"));
        }
        let hidden = look.hidden();
        above.push(node.value());
        for child in node.children() {
            match child.value() {
                Node::Text(text) if hidden => self.hide(text),
                Node::Text(text) => {
                    self.turned |= look.turned && !text.trim().is_empty();
                    self.unread |= look.unread && !text.trim().is_empty();
                    self.struck |= look.struck && text.contains(|c: char| c.is_ascii_digit());
                    // Lines of preformatted text are lines.
                    let lines = if above.iter().any(|e| e.name() == "pre") { usize::MAX } else { 1 };
                    for (i, line) in text.splitn(lines, '\n').enumerate() {
                        if i > 0 {
                            self.line();
                        }
                        self.text(line);
                    }
                }
                Node::Comment(comment) => self.comment(comment),
                Node::Element(element) => {
                    let name = element.name();
                    // In a drawing such a style is text, and rows may stand in it.
                    if matches!(name, "style" | "script" | "head") && unclosed_markup::is_usual(element) {
                        continue;
                    }
                    let Some(child) = ElementRef::wrap(child) else { continue };
                    let mut inner = look.within(child, &mut self.styles)?;
                    if is_never_shown(element) {
                        inner.hide();
                    }
                    // Small or colourless letters may be mended further inside, so their boxes count.
                    if !inner.gone() {
                        self.open(name);
                    }
                    self.children(child, &inner, above)?;
                    if !inner.gone() {
                        self.close(name);
                    }
                    if inner.hidden() {
                        self.hide(" ");
                    }
                }
                // What a template element holds.
                Node::Fragment => {
                    for text in child.descendants().filter_map(|n| n.value().as_text()) {
                        self.hide(text);
                    }
                }
                _ => {}
            }
        }
        above.pop();
        Ok(())
    }

    /// Comments are full of names and sizes of the mail's maker (`<!-- Amount row, 600px -->`);
    /// only long figures count, or a sum beside words of money.
    fn comment(&mut self, comment: &str) {
        let text = without_tags(comment);
        // Rows taken out of the mail: by its maker, who has no figures to put in, or by a payer.
        let lower = comment.to_ascii_lowercase();
        let rows = !lower.trim_start().starts_with("[if") && lower.contains("</t");
        if rows && speaks_of_money(&text) && text.bytes().any(|b| b.is_ascii_digit()) {
            self.hide(&text);
            return;
        }
        let figures = text.split(|c: char| !c.is_ascii_digit() && c != ',' && c != '.');
        let longest = figures.map(|f| f.bytes().filter(u8::is_ascii_digit).count()).max();
        if longest > Some(4) || longest > Some(2) && speaks_of_money(&text) {
            self.hide(&text);
        }
    }

    fn hide(&mut self, text: &str) {
        if self.hidden.len() < MAX_HIDDEN_CHARS {
            self.hidden.push_str(text);
        }
    }

    /// Line ends of the source become spaces in `end_cell`; other spaces are kept, because a bank counts
    /// them.
    fn text(&mut self, text: &str) {
        let mut before = ' ';
        // "500" with a raised "00" is seen as 500.00, and is not 50000.
        let digit = |c: char| c.is_ascii_digit();
        if std::mem::take(&mut self.seam) && self.cell.ends_with(digit) && text.starts_with(digit) {
            self.cell.push(RAISED);
        }
        for c in text.chars() {
            match c {
                // CR and LF together are one line end.
                '\n' if before == '\r' => {}
                '\n' | '\r' | '\t' => self.cell.push('\r'),
                c => self.cell.push(c),
            }
            before = c;
        }
    }

    fn open(&mut self, name: &str) {
        match name {
            // A table in a cell stands on its own; what came before it is a row.
            "table" | "tr" | "ul" | "ol" | "dl" => self.end_row(),
            "td" | "th" => {
                if !self.cell.trim().is_empty() {
                    self.end_cell();
                }
                self.cell.clear();
                self.cells += 1;
            }
            name if is_block(name) => self.line(),
            name => self.seam |= self.begins_seam(name),
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "td" | "th" => {
                self.cells = self.cells.saturating_sub(1);
                self.end_cell();
            }
            "table" | "tr" | "ul" | "ol" | "dl" => self.end_row(),
            name if is_block(name) => self.line(),
            name => self.seam |= self.begins_seam(name),
        }
    }

    fn begins_seam(&self, name: &str) -> bool {
        matches!(name, "sup" | "sub" | "small" | "big") && self.cell.ends_with(|c: char| c.is_ascii_digit())
    }

    /// A line ends: a row of its own outside of cells, a line break inside.
    fn line(&mut self) {
        if self.cells > 0 {
            if !self.cell.trim().is_empty() && !self.cell.ends_with('\n') {
                self.cell.push('\n');
            }
        } else {
            self.end_row();
        }
    }

    fn end_cell(&mut self) {
        let cell = std::mem::take(&mut self.cell);
        let trimmed = cell.trim();
        // What the maker of the mail broke and indented stands behind a line end, or before one.
        let (front, rest) = cell.split_once(trimmed).unwrap_or_default();
        let front = front.rsplit(['\r', '\n']).next().filter(|_| !front.contains(['\r', '\n']));
        let back = rest.split(['\r', '\n']).next();
        let blanks = [front, back].into_iter().flatten().map(|b| b.chars().count()).sum();
        let trimmed = trimmed.replace('\r', " ");
        if blanks > 0 && !trimmed.is_empty() && self.blanks.len() <= MAX_ROWS {
            self.blanks.push((trimmed.replace('\n', " "), blanks));
        }
        self.row.push(trimmed);
    }

    fn end_row(&mut self) {
        if !self.cell.trim().is_empty() {
            self.end_cell();
        }
        self.cell.clear();
        let row = std::mem::take(&mut self.row);
        if self.rows.len() > MAX_ROWS || row.iter().all(String::is_empty) {
            return;
        }
        let filled: Vec<&String> = row.iter().filter(|c| !c.is_empty()).collect();
        if let [only] = filled[..]
            && only.contains('\n')
        {
            // A cell that is the whole row: its lines are rows ("Label<br>value").
            let lines: Vec<Vec<String>> = only.lines().map(|l| vec![l.trim().to_owned()]).collect();
            self.rows.extend(lines.into_iter().filter(|l| !l[0].is_empty()));
        } else if row.iter().any(|c| c.contains('\n')) && columns(&row) {
            // Columns side by side, each with its label above its value.
            for cell in row {
                self.rows
                    .extend(cell.lines().map(|l| vec![l.trim().to_owned()]).filter(|l| !l[0].is_empty()));
            }
        } else {
            self.rows.push(row.into_iter().map(|c| c.replace('\n', " ")).collect());
        }
    }
}

/// Every filled cell has a line of its own for a label: nothing belongs to its neighbour.
fn columns(row: &[String]) -> bool {
    row.iter().filter(|c| !c.is_empty()).all(|c| c.lines().filter(|l| !l.trim().is_empty()).count() >= 2)
}

/// Elements whose text no reader is shown.
fn is_never_shown(element: &Element) -> bool {
    match element.name() {
        "details" | "dialog" => element.attr("open").is_none(),
        name => matches!(
            name,
            "noscript"
                | "template"
                | "title"
                | "textarea"
                | "object"
                | "iframe"
                | "select"
                | "datalist"
                | "svg"
                | "audio"
                | "video"
                | "canvas"
                | "math"
                | "noembed"
                | "noframes"
                | "applet"
                | "progress"
                | "meter"
                | "rp"
        ),
    }
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div"
            | "br"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "li"
            | "hr"
            | "section"
            | "article"
            | "header"
            | "footer"
            | "center"
            | "blockquote"
            | "pre"
            | "dt"
            | "dd"
            | "address"
            | "main"
            | "caption"
            | "form"
    )
}

/// The words inside a comment that itself holds tags (conditional comments do).
fn without_tags(text: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in text.chars() {
        match c {
            '<' | '[' => inside = true,
            '>' | ']' => {
                inside = false;
                out.push(' ');
            }
            c if !inside => out.push(c),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(html: &str) -> Vec<Vec<String>> {
        read(html).unwrap().table.rows
    }

    #[test]
    fn tables_lines_and_inline_tags() {
        assert_eq!(
            rows("<table><tr><td>Amount</td><td>:</td><td>\n NGN <b>5</b>00 </td></tr></table>"),
            [["Amount", ":", "NGN 500"]]
        );
        assert_eq!(rows("<div>Amount<br>NGN 5,<span>000</span>.00</div>"), [["Amount"], ["NGN 5,000.00"]]);
        assert_eq!(
            rows("<table><tr><td><p>Amount</p></td><td><p>5</p></td></tr></table>"),
            [["Amount", "5"]]
        );
        assert_eq!(
            rows("<table><tr><td>Hello<table><tr><td>A</td><td>1</td></tr></table>bye</td></tr></table>"),
            [vec!["Hello"], vec!["A", "1"], vec!["bye"]]
        );
        assert_eq!(
            rows("<table><tr><td>Amount<br>5</td><td>Account<br>012</td></tr></table>"),
            [["Amount"], ["5"], ["Account"], ["012"]]
        );
    }

    #[test]
    fn blanks_inside_a_cell_are_kept() {
        assert_eq!(rows("<td>A  B\n</td>")[0], ["A  B"]);
        assert_eq!(rows("<table><tr><td>x</td><td>A&nbsp; B</td></tr></table>")[0][1], "A\u{a0} B");
    }

    #[test]
    fn hidden_text_is_kept_apart() {
        for html in [
            "<p style='display:none'>NGN 900</p>",
            "<p style=\"DISPLAY : none !important\">NGN 900</p>",
            "<p hidden>NGN 900</p>",
            "<p style='color:#fff'>NGN 900</p>",
            "<font color=white>NGN 900</font>",
            "<div style='background:#000;color:black'>NGN 900</div>",
            "<span style='font-size:0px'>NGN 900</span>",
            "<span style='font-size:1px'>NGN 900</span>",
            "<!-- NGN 900 -->",
            "<noscript>NGN 900</noscript>",
            "<style>.q{display:none}</style><p class='a q'>NGN 900</p>",
            "<p style='visibility:hidden'>NGN 900</p>",
            "<p style='opacity:0'>NGN 900</p>",
            "<div style='max-height:0;overflow:hidden'>NGN 900</div>",
            "<p style='text-indent:-9999px'>NGN 900</p>",
            "<p style='position:absolute;left:-5000px'>NGN 900</p>",
            "<p style='color:transparent'>NGN 900</p>",
            "<table bgcolor='#000000'><tr><td style='color:rgb(0,0,0)'>NGN 900</td></tr></table>",
            "<!--[if mso]><td>NGN 900</td><![endif]-->",
            "<p style='mso-hide:all'>NGN 900</p>",
            "<p style='color:#fefefe'>NGN 900</p>",
            "<p style='line-height:0;font-size:0'>NGN 900</p>",
        ] {
            let page = read(&format!("<body><p>seen</p>{html}</body>")).unwrap();
            assert_eq!(page.table.text(), "seen\n", "{html}");
            assert!(looks_like_alert(&page.hidden), "{html}: {:?}", page.hidden);
        }
        let shown =
            read("<div style='background:#003366;color:#ffffff;font-size:13px'>NGN 900</div>").unwrap();
        assert_eq!((shown.table.text().as_str(), shown.hidden.as_str()), ("NGN 900\n", ""));
        assert!(!looks_like_alert("Your bank, always near you"));
        let maker =
            read("<p>seen</p><!-- container 600px, 2024 --><!--[if mso 15]><table width='600'><![endif]-->")
                .unwrap();
        assert!(!looks_like_alert(&maker.hidden), "{}", maker.hidden);
        assert!(looks_like_alert(&read("<p>seen</p><!-- 50,000.00 -->").unwrap().hidden));
    }

    #[test]
    fn deep_or_large_pages_are_refused_before_parsing() {
        assert!(read(&"<div>".repeat(20_000)).unwrap_err().contains("nested"));
        assert!(read(&"<font>".repeat(300)).unwrap_err().contains("nested"));
        assert!(read(&"x".repeat(MAX_HTML_BYTES + 1)).unwrap_err().contains("larger"));
        assert!(read(&"<tr><td>a".repeat(1000)).is_ok());
    }
}
