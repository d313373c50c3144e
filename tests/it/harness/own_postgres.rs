//! PostgreSQL servers of a test's own, in a folder of its own, driven by the lines of a page of the documentation.

use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Seconds that the lines of one step may take.
const STEP_SECONDS: &str = "120";

/// A folder in which servers live, and who runs them: they refuse to be root.
pub struct OwnPostgres {
    folder: tempfile::TempDir,
    user: Option<String>,
}

fn output_of(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// What stands between a page's fences of commands, in order; every fence of it must hold some.
pub fn blocks_of(page: &'static str, expected: usize) -> Vec<&'static str> {
    let blocks: Vec<&str> =
        page.split("```sh\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect();
    assert_eq!(blocks.len(), expected, "each block of the page is one step here");
    assert_eq!(page.matches("```").count(), expected * 2, "every fence holds lines that are run");
    blocks
}

impl OwnPostgres {
    /// With the program in the folder, for the servers' user may not look into that of the build.
    pub fn new() -> OwnPostgres {
        let folder = tempfile::Builder::new().prefix("tillbell-pg-").tempdir_in("/tmp").unwrap();
        let user = (output_of("id", &["-u"]) == "0").then(|| "postgres".to_owned());
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        if let Some(user) = &user {
            let id = |what| output_of("id", &[what, user]).parse().unwrap();
            chown(folder.path(), Some(id("-u")), Some(id("-g"))).unwrap();
        }
        std::fs::copy(env!("CARGO_BIN_EXE_tillbell"), folder.path().join("tillbell")).unwrap();
        OwnPostgres { folder, user }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a server that listens on this port, and starts it.
    pub fn make(&self, port: u16, lines_before: &str) {
        let folder = self.folder.path().display();
        self.works(
            port,
            &format!(
                "{lines_before}\ninitdb --pgdata=\"$PGDATA\" --auth=trust --no-sync\n\
                 printf '%s\\n' 'port = {port}' \"listen_addresses = '127.0.0.1'\" \
                 \"unix_socket_directories = '{folder}'\" >> \"$PGDATA/postgresql.conf\"\n\
                 pg_ctl start --pgdata=\"$PGDATA\" --wait --log=\"$PGDATA/first.log\""
            ),
        );
    }

    /// Runs lines in a shell as the servers' user, who finds the server of this port.
    pub fn shell(&self, port: u16, lines: &str) -> Output {
        let script = format!("set -eu -o pipefail\ncd {}\n{lines}\n", self.folder.path().display());
        let file = self.path("page.sh");
        std::fs::write(&file, script).unwrap();
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", STEP_SECONDS]);
        if let Some(user) = &self.user {
            command.args(["setpriv", "--reuid", user, "--regid", &output_of("id", &["-g", user])]);
            command.arg("--clear-groups");
        }
        let path = format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap());
        command
            .args(["bash", file.to_str().unwrap()])
            .env_clear()
            .env("PATH", path)
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", port.to_string())
            .env("PGUSER", self.user.as_deref().unwrap_or(&output_of("id", &["-un"])))
            .env("TILLBELL_DATABASE__URL", format!("postgres://till@127.0.0.1:{port}/till"))
            .env("TILLBELL_SECRET__KEY_FILE", self.path("till.key"))
            .env("TILLBELL_SERVER__DEV", "true")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// The same, which must succeed; answers what was printed.
    pub fn works(&self, port: u16, lines: &str) -> String {
        let output = self.shell(port, lines);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{lines}\n{out}\n{err}\n{}", self.logs());
        out.into_owned()
    }

    /// What the servers wrote as they started.
    fn logs(&self) -> String {
        let folders = std::fs::read_dir(self.folder.path()).into_iter().flatten().flatten();
        let logs = folders.flat_map(|folder| {
            let inside = std::fs::read_dir(folder.path()).into_iter().flatten().flatten();
            inside.map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "log"))
        });
        logs.map(|path| std::fs::read_to_string(path).unwrap_or_default()).collect::<Vec<_>>().join("\n")
    }
}
