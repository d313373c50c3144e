//! Things beside us while we measure: a PostgreSQL server of our own with fsync on, databases on
//! it, the release binary as a child process, and pgbench. All of them end with their values.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const START_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_CONNECTIONS: &str = "200";

/// A port nobody listens on now.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// A throw-away PostgreSQL; durable, because that is what is measured.
pub struct Postgres {
    folder: tempfile::TempDir,
    programs: PathBuf,
    user: Option<String>,
    port: u16,
}

impl Postgres {
    /// Starts a server. `None`, with a word why, when its programs are not installed.
    pub fn start() -> Option<Postgres> {
        let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path().join("bin"))
            .filter(|bin| bin.join("initdb").exists())
            .collect();
        found.sort();
        let Some(programs) = found.pop() else {
            println!("no PostgreSQL in /usr/lib/postgresql: its figures are left out");
            return None;
        };
        let is_root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.starts_with(b"0\n"));
        let user = is_root.then(|| "postgres".to_owned());
        let folder =
            tempfile::Builder::new().prefix("tillbell-bench-pg-").tempdir_in("/tmp").expect("folder");
        let server = Postgres { folder, programs, user, port: free_port() };
        if let Some(user) = &server.user {
            run(Command::new("chown").arg(user).arg(server.folder.path()));
        }
        let data = server.data();
        run(server.command("initdb").arg("-D").arg(&data).args([
            "-U",
            "tillbell",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
        ]));
        let options = format!(
            "-c listen_addresses=127.0.0.1 -c port={} -c unix_socket_directories={} -c max_connections={} \
             -c fsync=on -c synchronous_commit=on -c full_page_writes=on",
            server.port,
            server.folder.path().display(),
            MAX_CONNECTIONS
        );
        let log = server.folder.path().join("server.log");
        run(server
            .command("pg_ctl")
            .arg("-D")
            .arg(&data)
            .arg("-l")
            .arg(&log)
            .args(["-w", "-o", &options, "start"]));
        Some(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A program of the server, run by a user it accepts.
    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = match &self.user {
            Some(user) => {
                let mut command = Command::new("runuser");
                command.args(["-u", user, "--"]).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.current_dir("/");
        command
    }

    /// A fresh empty database.
    pub fn database(&self, name: &str) -> String {
        let (host, port) = ("127.0.0.1", self.port.to_string());
        run(self.command("createdb").args(["-h", host, "-p", &port, "-U", "tillbell", name]));
        format!("postgres://tillbell@127.0.0.1:{port}/{name}")
    }

    /// Transactions per second of a pgbench script.
    pub fn pgbench(&self, database: &str, script: &Path, clients: usize, seconds: u64, first: u64) -> f64 {
        let (port, clients, seconds) = (self.port.to_string(), clients.to_string(), seconds.to_string());
        let said = self
            .command("pgbench")
            .args(["-n", "-M", "prepared", "-j", "2", "-h", "127.0.0.1", "-p", &port, "-U", "tillbell"])
            .args(["-c", &clients, "-T", &seconds, "-D", &format!("n={first}"), "-f"])
            .arg(script)
            .arg(database)
            .output()
            .expect("run pgbench");
        let text = String::from_utf8_lossy(&said.stdout);
        let tps = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
        tps.unwrap_or_else(|| panic!("pgbench: {text}{}", String::from_utf8_lossy(&said.stderr)))
    }

    /// What planners know of a database that was filled a moment ago.
    pub fn vacuum(&self, url: &str) {
        run(self.command("psql").args(["-XAtqc", "vacuum analyze", url]));
    }

    /// Processor time of all that the server has begun, in ms.
    pub fn processor_ms(&self) -> f64 {
        let file = std::fs::read_to_string(self.data().join("postmaster.pid")).expect("its pid");
        let postmaster: u32 = file.lines().next().expect("a line").trim().parse().expect("a number");
        let mut spent = processor_ms(postmaster, true).expect("the server is there").1;
        for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            spent += processor_ms(pid, false)
                .filter(|(parent, _)| *parent == postmaster)
                .map_or(0.0, |(_, ms)| ms);
        }
        spent
    }
}

/// The parent of a process and the processor time that it took, in ms, with that of its ended children if wanted (proc(5)).
fn processor_ms(pid: u32, with_children: bool) -> Option<(u32, f64)> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, stat) = stat.rsplit_once(')')?;
    let fields: Vec<u64> = stat.split_whitespace().skip(1).map(|field| field.parse().unwrap_or(0)).collect();
    let ticks: u64 = fields[10..if with_children { 14 } else { 12 }].iter().sum();
    Some((u32::try_from(fields[0]).ok()?, ticks as f64 * 1_000.0 / TICKS_PER_SECOND))
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let data = self.data();
        let mut stop = self.command("pg_ctl");
        let _ =
            stop.arg("-D").arg(data).args(["-m", "immediate", "-w", "stop"]).stdout(Stdio::null()).status();
    }
}

fn run(command: &mut Command) {
    let said = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(said.status.success(), "{command:?}: {}", String::from_utf8_lossy(&said.stderr));
}

/// A child process that listens.
pub struct Server {
    child: Child,
    command: Command,
    pub address: SocketAddr,
}

impl Server {
    /// The release binary's `serve` on a database that exists.
    pub fn tillbell(url: &str, folder: &Path, roles: &str) -> Server {
        Server::tillbell_with(url, folder, roles, &[])
    }

    /// The same with more settings, as `SECTION__KEY` and value.
    pub fn tillbell_with(url: &str, folder: &Path, roles: &str, more: &[(&str, &str)]) -> Server {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut command = Command::new(env!("CARGO_BIN_EXE_tillbell"));
        command
            .args(["serve", "--role", roles])
            .current_dir(folder)
            .env("TILLBELL_DATABASE__URL", url)
            .env("TILLBELL_SERVER__LISTEN", address.to_string())
            .env("TILLBELL_SECRET__KEY", crate::world::KEY)
            .env("TILLBELL_LIMITS__REQUESTS_PER_MINUTE", "1000000000")
            .envs(more.iter().map(|(key, value)| (format!("TILLBELL_{key}"), value)));
        Server::start(command, address, folder)
    }

    /// This very program as the ceiling: see `ceiling`.
    pub fn ceiling(folder: &Path) -> Server {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut command = Command::new(std::env::current_exe().expect("our own path"));
        command.arg("--ceiling").arg(address.to_string()).arg(folder.join("ceiling.db"));
        Server::start(command, address, folder)
    }

    fn start(mut command: Command, address: SocketAddr, folder: &Path) -> Server {
        // As under a service manager: the log goes to a file.
        let log =
            std::fs::File::create(folder.join(format!("server-{}.log", address.port()))).expect("a log");
        let errors = log.try_clone().expect("a second handle");
        let child = command.stdin(Stdio::null()).stdout(log).stderr(errors).spawn().expect("start a server");
        let mut server = Server { child, command, address };
        server.until_listening();
        server
    }

    fn until_listening(&mut self) {
        let began = Instant::now();
        while std::net::TcpStream::connect(self.address).is_err() {
            let ended = self.child.try_wait().expect("ask for the child");
            assert!(
                ended.is_none() && began.elapsed() < START_TIMEOUT,
                "the server did not start: {:?}",
                self.command
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Killed as by a fault of the machine, and started again at once.
    pub fn kill_and_start(&mut self) {
        self.child.kill().expect("kill a server");
        let _ = self.child.wait();
        self.child = self.command.spawn().expect("start a server");
    }

    /// Processor time that it took, in ms; since its last start.
    pub fn processor_ms(&self) -> f64 {
        processor_ms(self.child.id(), false).expect("the server is there").1
    }

    /// Ends as under a service manager, so that leases are given back.
    pub fn end(mut self) {
        let ended = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(ended.is_ok_and(|status| status.success()), "cannot end a server");
        let _ = self.child.wait();
    }

    /// Memory in RAM now, in MB.
    pub fn rss_mb(&self) -> f64 {
        self.memory_mb("VmRSS:")
    }

    /// The most memory in RAM since its start, in MB.
    pub fn peak_mb(&self) -> f64 {
        self.memory_mb("VmHWM:")
    }

    fn memory_mb(&self, name: &str) -> f64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line of memory");
        let kb: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number of kB");
        kb / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
