//! A real mail server, Exim, with a queue of its own in a temporary folder and a retry every second.
//!
//! It takes mails for everybody on a free port of this machine and hands all of them to one place,
//! over SMTP or LMTP. It runs unprivileged whoever runs the tests: a copy of the program without its
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
        let text = configuration(&folder.path().display().to_string(), &user, &group, port, to, protocol);
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

fn configuration(folder: &str, user: &str, group: &str, port: u16, to: SocketAddr, protocol: &str) -> String {
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
         tls_advertise_hosts =\n\
         host_lookup =\n\
         keep_environment =\n\
         acl_smtp_rcpt = accept\n\
         acl_smtp_data = accept\n\
         begin routers\n\
         till:\n  driver = manualroute\n  route_list = * {ip}\n  self = send\n  transport = till\n\
         begin transports\n\
         till:\n  driver = smtp\n  protocol = {protocol}\n  port = {to_port}\n  allow_localhost\n\
         begin retry\n\
         * * F,1h,1s\n",
        ip = to.ip(),
        to_port = to.port(),
    )
}
