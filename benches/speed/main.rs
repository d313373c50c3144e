//! The benches: our figures beside their yardsticks, both measured in this run on this machine.
//!
//! `cargo bench --bench speed` measures everything, `cargo bench --bench speed -- NAME...` some of
//! it, `--quick` is a smoke run whose figures mean little, `--save` writes the figures to `bench/results/`. PostgreSQL is started by the bench with
//! fsync on; SQLite's files lie on the same disk.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench that cannot go on says so and ends")]

use std::time::Instant;

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/it/harness/browser.rs"]
mod browser;
mod ceiling;
mod create;
mod decide;
mod desk;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/it/harness/dovecot.rs"]
mod dovecot;
mod driver;
mod floods;
mod history;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/it/harness/imap_client.rs"]
mod imap_client;
mod mailbox;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/it/harness/mails.rs"]
mod mails;
mod memory;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/it/harness/name_server.rs"]
mod name_server;
mod names;
mod nation;
mod pages;
mod people;
mod pins;
mod read;
mod reading;
mod report;
mod results;
mod reviews;
mod server;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/it/harness/signing.rs"]
mod signing;
mod storage;
mod webhooks;
mod world;

/// The allocator of the program itself, so that both sides of every comparison have it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const NAMES: [&str; 15] = [
    "storage", "create", "read", "reading", "names", "webhooks", "floods", "reviews", "decide", "mailbox",
    "pins", "memory", "pages", "desk", "nation",
];

/// How much is measured.
pub struct Size {
    pub quick: bool,
    pub runs: usize,
    /// Seconds of one run of load.
    pub seconds: u64,
}

impl Size {
    /// The whole number, or the small one of a smoke run.
    pub fn of(&self, whole: usize, quick: usize) -> usize {
        if self.quick { quick } else { whole }
    }
}

/// A folder for databases, on the disk of the temporary folder.
pub fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("tillbell-bench-").tempdir().expect("a folder")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    if let [flag, address, file] = arguments.as_slice()
        && flag == "--ceiling"
    {
        return runtime.block_on(ceiling::serve(address.parse().expect("an address"), file));
    }
    rustls::crypto::aws_lc_rs::default_provider().install_default().expect("the first provider");
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let size = Size { quick, runs: if quick { 1 } else { 3 }, seconds: if quick { 1 } else { 4 } };
    // Cargo adds `--bench`.
    let wanted: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| !argument.starts_with("--")).collect();
    if let Some(unknown) = wanted.iter().find(|name| !NAMES.contains(name)) {
        eprintln!("there is no bench {unknown:?}; there are: {}", NAMES.join(", "));
        std::process::exit(2);
    }
    let began = Instant::now();
    runtime.block_on(async {
        let mut report = report::Report::default();
        let server = server::Postgres::start();
        let is_wanted = |name: &str| wanted.is_empty() || wanted.contains(&name);
        run(&mut report, server.as_ref(), &size, &is_wanted).await;
        // Takes minutes and gigabytes.
        if wanted.contains(&"nation") {
            println!("nation");
            nation::run(&mut report, nation::Wanted::of(&arguments), server.as_ref()).await;
        }
        report.print();
        if arguments.iter().any(|argument| argument == "--save") {
            let command: Vec<String> = arguments.iter().filter(|word| *word != "--bench").cloned().collect();
            println!("written to {}", results::save(&command, report.lines()).display());
        }
    });
    println!("{:.0} s in all", began.elapsed().as_secs_f64());
}

async fn run(
    report: &mut report::Report,
    server: Option<&server::Postgres>,
    size: &Size,
    wanted: &dyn Fn(&str) -> bool,
) {
    if wanted("storage") {
        println!("storage");
        storage::sqlite(report, size).await;
        if let Some(server) = server {
            storage::postgres(report, size, server).await;
        }
    }
    if wanted("create") {
        println!("create");
        create::sqlite(report, size).await;
        if let Some(server) = server {
            create::postgres(report, size, server).await;
        }
    }
    if wanted("read") {
        println!("read");
        read::run(report, size, server).await;
    }
    if wanted("reading") {
        println!("reading");
        reading::run(report, size);
    }
    if wanted("names") {
        println!("names");
        names::run(report, size);
    }
    if wanted("webhooks") {
        println!("webhooks");
        webhooks::run(report, size, server).await;
    }
    if wanted("floods") {
        println!("floods");
        floods::run(report, size).await;
    }
    if wanted("reviews") {
        println!("reviews");
        reviews::run(report, size).await;
    }
    if wanted("decide") {
        println!("decide");
        decide::run(report, size, server).await;
    }
    if wanted("mailbox") {
        println!("mailbox");
        mailbox::run(report, size, server).await;
    }
    if wanted("pins") {
        println!("pins");
        pins::run(report, size, server).await;
    }
    if wanted("memory") {
        println!("memory");
        memory::run(report, size, server).await;
    }
    if wanted("pages") {
        println!("pages");
        pages::run(report, size, server).await;
    }
    if wanted("desk") {
        println!("desk");
        desk::run(report, size, server).await;
    }
}
