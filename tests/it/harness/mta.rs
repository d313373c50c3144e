//! A real mail server, Exim, with a queue of its own in a temporary folder and a retry every second.
//!
//! It takes mails for everybody on a free port of this machine and hands all of them to one place,
//! over SMTP or LMTP, or keeps them in a folder. It runs unprivileged whoever runs the tests: a copy of the program without its
//! set-user bit, as the caller or, where that is root, as `nobody`. `./test` installs it.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Debian's name; elsewhere it is `exim`.
const PROGRAMS: [&str; 3] = ["/usr/sbin/exim4", "/usr/sbin/exim", "/usr/bin/exim"];
/// The unprivileged user and its group that every Debian has.
const NOBODY: [&str; 2] = ["nobody", "nogroup"];
const DEADLINE: Duration = Duration::from_secs(60);
/// Between two looks at its log.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A running server, ended when dropped.
pub struct Exim {
    child: Child,
    folder: tempfile::TempDir,
    pub address: SocketAddr,
}

impl Drop for Exim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(program).args(arguments).output().unwrap_or_else(|why| panic!("{program}: {why}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Exim {
    /// Relays everything to `to`; `protocol` is `smtp` or `lmtp`.
    pub async fn start(to: SocketAddr, protocol: &str) -> Exim {
        Exim::run(|_| relaying(to, protocol)).await
    }

    /// Keeps everything in a folder. With `tls`, a certificate and its key in PEM, nothing is taken but over STARTTLS
    /// from `till` with the password `hunter two`.
    pub async fn keeping(tls: Option<(String, String)>) -> Exim {
        Exim::run(|folder| {
            if let Some((certificate, key)) = &tls {
                std::fs::write(format!("{folder}/cert.pem"), certificate).unwrap();
                std::fs::write(format!("{folder}/key.pem"), key).unwrap();
            }
            keeping(folder, tls.is_some())
        })
        .await
    }

    /// The mails that it keeps, as they came; in no order.
    pub fn kept(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.folder.path().join("kept/new")).into_iter().flatten();
        files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect()
    }

    /// Waits until it keeps so many.
    pub async fn keeps(&self, count: usize) -> Vec<String> {
        let end = tokio::time::Instant::now() + DEADLINE;
        loop {
            let kept = self.kept();
            if kept.len() >= count {
                return kept;
            }
            assert!(tokio::time::Instant::now() < end, "Exim keeps {} of {count} mails", kept.len());
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn run(rest: impl FnOnce(&str) -> [String; 2]) -> Exim {
        // In /tmp whatever TMPDIR says: another user must get in.
        let folder = tempfile::Builder::new().prefix("tillbell-exim-").tempdir_in("/tmp").unwrap();
        let program = PROGRAMS.iter().find(|path| Path::new(path).exists());
        let program = program.expect("Exim is missing: ./test installs exim4-daemon-light");
        // Copied, it loses the bit that would make it root.
        std::fs::copy(program, folder.path().join("exim")).unwrap();
        std::fs::create_dir(folder.path().join("spool")).unwrap();
        let is_root = run("id", &["-u"]) == "0";
        let own = [run("id", &["-un"]), run("id", &["-gn"])];
        let [user, group] = if is_root { NOBODY.map(str::to_owned) } else { own };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let path = folder.path().display().to_string();
        let [main, rest] = rest(&path);
        let text = configuration(&path, &user, &group, port) + &main + &rest;
        let file = folder.path().join("exim.conf");
        std::fs::write(&file, text).unwrap();
        if is_root {
            run("chown", &["-R", &format!("{user}:{group}"), folder.path().to_str().unwrap()]);
            run("chown", &["root:root", file.to_str().unwrap()]);
        }
        let exim = folder.path().join("exim");
        let mut command = Command::new(if is_root { Path::new("setpriv") } else { &exim });
        if is_root {
            command.args(["--reuid", &user, "--regid", &group, "--clear-groups"]).arg(&exim);
        }
        command.arg("-C").arg(&file).args(["-bdf", "-q1s"]).current_dir("/");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let server = Exim { child, folder, address: SocketAddr::from(([127, 0, 0, 1], port)) };
        server.logged("daemon started").await;
        server
    }

    /// Waits until its log says something.
    pub async fn logged(&self, text: &str) {
        let end = tokio::time::Instant::now() + DEADLINE;
        loop {
            let log = std::fs::read_to_string(self.folder.path().join("log-main")).unwrap_or_default();
            if log.contains(text) {
                return;
            }
            assert!(tokio::time::Instant::now() < end, "Exim never logged {text:?}:\n{log}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

fn configuration(folder: &str, user: &str, group: &str, port: u16) -> String {
    format!(
        "exim_path = {folder}/exim\n\
         exim_user = {user}\n\
         exim_group = {group}\n\
         spool_directory = {folder}/spool\n\
         log_file_path = {folder}/log-%s\n\
         pid_file_path = {folder}/pid\n\
         primary_hostname = mx.relay.example\n\
         qualify_domain = relay.example\n\
         deliver_drop_privilege\n\
         never_users =\n\
         local_interfaces = 127.0.0.1\n\
         daemon_smtp_ports = {port}\n\
         host_lookup =\n\
         keep_environment =\n\
         acl_smtp_data = accept\n"
    )
}

/// What belongs to the main part, and what stands behind it.
fn relaying(to: SocketAddr, protocol: &str) -> [String; 2] {
    let rest = format!(
        "begin routers\n\
         till:\n  driver = manualroute\n  route_list = * {ip}\n  self = send\n  transport = till\n\
         begin transports\n\
         till:\n  driver = smtp\n  protocol = {protocol}\n  port = {port}\n  allow_localhost\n\
         begin retry\n\
         * * F,1h,1s\n",
        ip = to.ip(),
        port = to.port(),
    );
    ["tls_advertise_hosts =\nacl_smtp_rcpt = accept\n".to_owned(), rest]
}

fn keeping(folder: &str, is_guarded: bool) -> [String; 2] {
    let (main, rest) = match is_guarded {
        false => ("tls_advertise_hosts =\nacl_smtp_rcpt = acl_rcpt\n".to_owned(), ""),
        true => (
            format!(
                "tls_advertise_hosts = *\ntls_certificate = {folder}/cert.pem\ntls_privatekey = {folder}/key.pem\n\
                 acl_smtp_rcpt = acl_till\nauth_advertise_hosts = ${{if eq{{$tls_in_cipher}}{{}}{{}}{{*}}}}\n"
            ),
            "begin authenticators\n\
             plain:\n  driver = plaintext\n  public_name = PLAIN\n  server_prompts = :\n  \
             server_condition = ${if and{{eq{$auth2}{till}}{eq{$auth3}{hunter two}}}{yes}{no}}\n  server_set_id = $auth2\n",
        ),
    };
    let rest = format!(
        "begin acl\n\
         acl_till:\n  accept\n    authenticated = *\n    encrypted = *\n  deny\n    message = sign in first\n\
         acl_rcpt:\n  deny\n    local_parts = nobody\n    message = no such person here\n  accept\n\
         begin routers\n\
         keep:\n  driver = accept\n  transport = keep\n\
         begin transports\n\
         keep:\n  driver = appendfile\n  directory = {folder}/kept\n  maildir_format\n\
         begin retry\n\
         * * F,1h,1s\n{rest}"
    );
    [main, rest]
}
