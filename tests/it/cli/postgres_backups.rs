//! docs/backup-postgresql.md is true: its lines are run on a server of their own, in their order, and what was acknowledged is there
//! afterwards, or up to the moment that was asked for.

use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/backup-postgresql.md");
/// What the page says where a moment is to be chosen.
const MOMENT: &str = "2026-03-10 09:00:00+01";

/// What stands in the page's fences, in the order in which it is run.
#[derive(Clone, Copy)]
enum Step {
    Places,
    Archive,
    Restart,
    SeeThatItCopies,
    BaseBackup,
    CleanUp,
    SaveTheRest,
    PutInPlace,
    ChooseAMoment,
    StartAgain,
    Hold,
    Resume,
}

const STEPS: usize = Step::Resume as usize + 1;

/// A server of its own, whose commands are the page's.
struct Guide {
    folder: tempfile::TempDir,
    /// Who runs the server: it refuses to be root.
    user: Option<String>,
    port: u16,
    blocks: Vec<&'static str>,
}

impl Drop for Guide {
    fn drop(&mut self) {
        self.shell("pg_ctl stop --pgdata=\"$PGDATA\" --mode=immediate");
    }
}

fn output_of(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Guide {
    fn new() -> Guide {
        let blocks: Vec<&str> =
            PAGE.split("```sh\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect();
        assert_eq!(blocks.len(), STEPS, "each block of the page is one step here");
        assert_eq!(PAGE.matches("```").count(), STEPS * 2, "every fence holds lines that are run");
        let folder = tempfile::Builder::new().prefix("tillbell-pg-").tempdir_in("/tmp").unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let user = (output_of("id", &["-u"]) == "0").then(|| "postgres".to_owned());
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        if let Some(user) = &user {
            let id = |what| output_of("id", &[what, user]).parse().unwrap();
            chown(folder.path(), Some(id("-u")), Some(id("-g"))).unwrap();
        }
        // The server's user may not look into the folder of the build.
        let program = folder.path().join("tillbell");
        std::fs::copy(env!("CARGO_BIN_EXE_tillbell"), &program).unwrap();
        let here = Guide { folder, user, port, blocks };
        here.works("initdb --pgdata=\"$PGDATA\" --auth=trust --no-sync");
        here.works(&format!(
            "printf '%s\\n' 'port = {port}' \"listen_addresses = '127.0.0.1'\" \"unix_socket_directories = '{}'\" \
             >> \"$PGDATA/postgresql.conf\"",
            here.folder.path().display()
        ));
        here.works("pg_ctl start --pgdata=\"$PGDATA\" --wait --log=\"$PGDATA/first.log\"");
        here.works("createuser till && createdb --owner=till till");
        here.tillbell(&["migrate"]);
        here
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs lines in the page's shell, with what its first block says.
    fn shell(&self, lines: &str) -> Output {
        let places = self.blocks[Step::Places as usize]
            .replace("/var/lib/postgresql/15/main", &self.path("main").display().to_string())
            .replace("/var/backups/postgresql", &self.path("kept").display().to_string());
        let script = format!("set -eu -o pipefail\ncd {}\n{places}\n{lines}\n", self.folder.path().display());
        let file = self.path("page.sh");
        std::fs::write(&file, script).unwrap();
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "120"]);
        if let Some(user) = &self.user {
            command.args([
                "setpriv",
                "--reuid",
                user,
                "--regid",
                &output_of("id", &["-g", user]),
                "--clear-groups",
            ]);
        }
        let path = format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap());
        command
            .args(["bash", file.to_str().unwrap()])
            .env_clear()
            .env("PATH", path)
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", self.port.to_string())
            .env("PGUSER", self.user.as_deref().unwrap_or(&output_of("id", &["-un"])))
            .env("TILLBELL_DATABASE__URL", format!("postgres://till@127.0.0.1:{}/till", self.port))
            .env("TILLBELL_SECRET__KEY_FILE", self.path("till.key"))
            .env("TILLBELL_SERVER__DEV", "true")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn works(&self, lines: &str) -> String {
        let output = self.shell(lines);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let log = ["restore.log", "restart.log"].map(|name| read(&self.path("main").join(name)));
        assert!(output.status.success(), "{lines}\n{out}\n{err}\n{log:?}");
        out.into_owned()
    }

    fn run(&self, step: Step) -> String {
        self.works(self.blocks[step as usize])
    }

    fn tillbell(&self, arguments: &[&str]) -> Value {
        let told = self.works(&format!("tillbell --json {}", arguments.join(" ")));
        serde_json::from_str(&told).unwrap_or(Value::Null)
    }

    fn add(&self, business: &str) {
        let email = format!("till@{business}.example");
        self.tillbell(&["business", "add", "--name", business, "--email", &email]);
    }

    fn businesses(&self) -> Vec<String> {
        let told = self.tillbell(&["business", "list"]);
        let names = told["businesses"].as_array().unwrap().iter();
        let mut names: Vec<String> = names.map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        names.sort_unstable();
        names
    }

    fn now(&self) -> String {
        self.works("psql --dbname=postgres --tuples-only --no-align --command='select clock_timestamp()'")
            .trim()
            .to_owned()
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn every_line_of_the_page_works_and_nothing_is_lost_postgres() {
    let guide = Guide::new();
    guide.run(Step::Archive);
    guide.run(Step::Restart);
    let seen = guide.run(Step::SeeThatItCopies);
    assert!(seen.contains("failed_count      | 0") && !seen.contains("archived_count    | 0\n"), "{seen}");
    guide.add("adire");
    guide.run(Step::BaseBackup);
    guide.add("bolu");
    guide.works("psql --dbname=postgres --command='select pg_switch_wal()'");
    let moment = guide.now();
    guide.add("chike");
    guide.run(Step::CleanUp);

    // To the end: also what no copied file of the log holds yet.
    guide.run(Step::SaveTheRest);
    guide.run(Step::PutInPlace);
    guide.run(Step::StartAgain);
    guide.run(Step::Hold);
    let held = guide.tillbell(&["hold"]);
    assert!(held["held_since"].is_string(), "{held}");
    assert_eq!(guide.businesses(), ["adire", "bolu", "chike"]);
    guide.run(Step::Resume);
    guide.add("dayo");

    // To a moment, from the same base backup.
    guide.works("rm -rf \"$PGDATA.before\"");
    guide.run(Step::SaveTheRest);
    guide.run(Step::PutInPlace);
    guide.works(&guide.blocks[Step::ChooseAMoment as usize].replace(MOMENT, &moment));
    guide.run(Step::StartAgain);
    guide.run(Step::Hold);
    assert_eq!(guide.businesses(), ["adire", "bolu"]);
    guide.run(Step::Resume);
    // And it is a server that goes on, and keeps its log.
    guide.add("ebiere");
    guide.run(Step::BaseBackup);
    assert_eq!(guide.businesses(), ["adire", "bolu", "ebiere"]);
    // The page's own moment would have been refused: it is before the backup.
    assert!(PAGE.contains(MOMENT));
}
