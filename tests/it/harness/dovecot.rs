//! A real IMAP server: Debian's dovecot, in a temporary folder, as an ordinary user, on free ports.
//!
//! Every login name works with the password `secret` and has a Maildir of its own. The server speaks
//! plain text, STARTTLS and TLS with a certificate of its own authority. It ends with its value, and
//! with the test that is killed.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::imap_client::ImapClient;

const START_WITHIN: Duration = Duration::from_secs(30);
pub const PASSWORD: &str = "secret";

static NEXT: AtomicU64 = AtomicU64::new(1);

pub struct Dovecot {
    folder: tempfile::TempDir,
    child: Child,
    user: User,
    /// Plain text and STARTTLS.
    pub port: u16,
    pub tls_port: u16,
}

/// Who runs the server: never root, it refuses to deliver to root.
struct User {
    name: String,
    group: String,
    ids: Option<(u32, u32)>,
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect(program);
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn user() -> User {
    if said("id", &["-u"]) == "0" {
        let ids =
            (said("id", &["-u", "nobody"]).parse().unwrap(), said("id", &["-g", "nobody"]).parse().unwrap());
        User { name: "nobody".into(), group: said("id", &["-gn", "nobody"]), ids: Some(ids) }
    } else {
        User { name: said("id", &["-un"]), group: said("id", &["-gn"]), ids: None }
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Dovecot {
    pub async fn start() -> Dovecot {
        // Short, because paths of sockets are.
        let folder = tempfile::Builder::new().prefix("tb-dovecot-").tempdir_in("/tmp").unwrap();
        let path = folder.path();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let user = user();
        let (port, tls_port) = (free_port(), free_port());
        let authority =
            rcgen::generate_simple_self_signed(vec!["localhost".into(), "127.0.0.1".into()]).unwrap();
        std::fs::write(path.join("cert.pem"), authority.cert.pem()).unwrap();
        std::fs::write(path.join("key.pem"), authority.signing_key.serialize_pem()).unwrap();
        std::fs::write(path.join("dovecot.conf"), configuration(path, &user, port, tls_port)).unwrap();
        for folder in ["run", "home"] {
            std::fs::create_dir(path.join(folder)).unwrap();
        }
        for name in [".", "run", "home", "cert.pem", "key.pem"] {
            user.own(&path.join(name));
        }
        let mut server = Dovecot { child: spawn(&user, path), folder, user, port, tls_port };
        server.wait_until_it_listens();
        server
    }

    fn wait_until_it_listens(&mut self) {
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.child.try_wait().unwrap();
            let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(ended.is_none() && began.elapsed() < START_WITHIN, "dovecot did not start: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The authority that signed the server's certificate.
    pub fn ca_file(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// As `[[mail.imap]]`; `tls` is `none`, `starttls` or `tls`.
    pub fn configured(&self, login: &str, tls: &str, folder: &str) -> String {
        let port = if tls == "tls" { self.tls_port } else { self.port };
        format!(
            "[[mail.imap]]\nname = \"{login} {tls}\"\nhost = \"localhost\"\nport = {port}\ntls = \"{tls}\"\n\
             user = \"{login}\"\npassword = \"{PASSWORD}\"\nfolder = \"{folder}\"\nca_file = {:?}\n",
            self.ca_file()
        )
    }

    /// Puts a mail into a login's INBOX as a delivery agent does.
    pub fn deliver(&self, login: &str, mail: &str) {
        let maildir = self.folder.path().join("home").join(login).join("Maildir");
        if !maildir.join("new").exists() {
            for name in ["", "Maildir", "Maildir/tmp", "Maildir/cur", "Maildir/new"] {
                let path = self.folder.path().join("home").join(login).join(name);
                std::fs::create_dir_all(&path).unwrap();
                self.user.own(&path);
            }
        }
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{:010}.{n:08}.till", 1_700_000_000 + n);
        let part = maildir.join("tmp").join(&name);
        std::fs::write(&part, mail.replace("\r\n", "\n")).unwrap();
        self.user.own(&part);
        std::fs::rename(part, maildir.join("new").join(name)).unwrap();
    }

    /// A connection of a mail program.
    pub async fn client(&self, login: &str) -> ImapClient {
        ImapClient::log_in(self.port, login, PASSWORD).await
    }
}

impl User {
    fn own(&self, path: &Path) {
        if let Some((uid, gid)) = self.ids {
            chown(path, Some(uid), Some(gid)).unwrap();
        }
    }
}

impl Drop for Dovecot {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        // Asked to end it ends its children too.
        let _ = Command::new("kill").arg(pid).status();
        let _ = self.child.wait();
    }
}

fn spawn(user: &User, path: &Path) -> Child {
    let dovecot =
        ["/usr/sbin/dovecot", "/usr/local/sbin/dovecot"].into_iter().find(|p| Path::new(p).exists());
    let dovecot = dovecot.expect("dovecot is not installed: run ./test, or apt-get install dovecot-imapd");
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM"]);
    if let Some((uid, gid)) = user.ids {
        command.args(["--reuid", &uid.to_string(), "--regid", &gid.to_string(), "--clear-groups"]);
    }
    command.args([dovecot, "-F", "-c"]).arg(path.join("dovecot.conf"));
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("start dovecot by setpriv (package util-linux)")
}

fn configuration(path: &Path, user: &User, port: u16, tls_port: u16) -> String {
    let (path, name, group) = (path.display(), &user.name, &user.group);
    format!(
        "base_dir = {path}/run\nstate_dir = {path}/run\nlog_path = {path}/log\nprotocols = imap\n\
         listen = 127.0.0.1\ndefault_internal_user = {name}\ndefault_internal_group = {group}\n\
         default_login_user = {name}\nmail_location = maildir:~/Maildir\nfirst_valid_uid = 1\n\
         ssl = yes\nssl_cert = <{path}/cert.pem\nssl_key = <{path}/key.pem\n\
         disable_plaintext_auth = no\nmail_max_userip_connections = 1000\n\
         namespace inbox {{\n inbox = yes\n separator = .\n}}\n\
         passdb {{\n driver = static\n args = password={PASSWORD}\n}}\n\
         userdb {{\n driver = static\n args = uid={name} gid={group} home={path}/home/%u\n}}\n\
         service anvil {{\n chroot =\n}}\n\
         service imap-login {{\n chroot =\n inet_listener imap {{\n port = {port}\n }}\n \
         inet_listener imaps {{\n port = {tls_port}\n }}\n}}\n"
    )
}
