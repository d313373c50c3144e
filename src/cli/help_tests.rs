//! Tests of the help: every command says what it does and has examples that can be typed, every argument is
//! described, and all of it fits into 80 columns.

use clap::{Command, CommandFactory, Parser};

use super::Cli;

const COLUMNS: usize = 80;

/// Calls `look` with each command and its full name, `tillbell payment list` for instance.
fn walk(command: &Command, name: &str, look: &mut impl FnMut(&Command, &str)) {
    look(command, name);
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        walk(sub, &format!("{name} {}", sub.get_name()), look);
    }
}

/// All commands, and what `check` finds wrong with each.
fn findings(check: impl Fn(&Command, &str) -> Vec<String>) -> Vec<String> {
    let mut root = Cli::command();
    root.build();
    let mut found = Vec::new();
    walk(&root, "tillbell", &mut |command, name| {
        found.extend(check(command, name).iter().map(|what| format!("{name}: {what}")));
    });
    found
}

/// The lines below `Examples:`.
fn examples(command: &Command) -> Vec<String> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let Some((_, examples)) = after.split_once("Examples:\n") else { return Vec::new() };
    examples.lines().map(str::to_owned).collect()
}

/// The words of a line as a shell has them, up to a redirection.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for sign in line.chars() {
        match sign {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            sign => word.push(sign),
        }
    }
    words.push(word);
    words.into_iter().filter(|word| !word.is_empty()).take_while(|word| word != ">").collect()
}

#[test]
fn every_command_says_what_it_does_in_one_sentence() {
    let found = findings(|command, _| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let is_sentence = about.starts_with(char::is_uppercase) && about.split(' ').count() > 2;
        if is_sentence && !about.ends_with('.') { Vec::new() } else { vec![format!("about {about:?}")] }
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_command_has_examples_that_can_be_typed() {
    let found = findings(|command, name| {
        let lines = examples(command);
        let mut found = Vec::new();
        if !lines.iter().any(|line| line.starts_with(&format!("  {name}"))) {
            found.push("no example of its own".to_owned());
        }
        for line in lines {
            if !line.starts_with("  tillbell ") || line.len() > COLUMNS {
                found.push(format!("not an indented command of at most {COLUMNS} columns: {line}"));
            } else if let Err(error) = Cli::try_parse_from(words(&line)) {
                found.push(format!("{line}: {error}"));
            }
        }
        found
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_argument_is_described() {
    let found = findings(|command, _| {
        let undescribed = |arg: &&clap::Arg| {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            !help.starts_with(|first: char| first.is_uppercase() || first.is_ascii_digit())
        };
        let wrong = command.get_arguments().filter(|arg| !arg.is_hide_set()).filter(undescribed);
        wrong.map(|arg| format!("{} has no description", arg.get_id())).collect()
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn help_fits_into_eighty_columns() {
    let found = findings(|command, _| {
        let mut command = command.clone().term_width(COLUMNS);
        let (short, long) = (command.render_help().to_string(), command.render_long_help().to_string());
        let wide = |line: &&str| console::measure_text_width(line) > COLUMNS;
        let lines = short.lines().chain(long.lines()).filter(wide).filter(|line| !line.starts_with("Usage:"));
        lines.map(str::to_owned).collect()
    });
    assert!(found.is_empty(), "{found:#?}");
}
