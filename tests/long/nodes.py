"""tillbell's nodes on a database, callers that ask for test payments and pay them, and a receiver of their webhooks: what the
long runs of this folder share."""
import http.client
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time

POSTGRES = pathlib.Path("/usr/lib/postgresql/15/bin")
CALLERS = 6
PAYERS = ["Halima Garba", "Chike Nwosu", "Bola Adeyemi", "Sani Lawal", "Ngozi Umeadi", "Efe Okoro"]
# Payments between one change and the next, and the longest time for anything.
BETWEEN = 150
ENOUGH = 120


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def until(what, check):
    end = time.monotonic() + ENOUGH
    while time.monotonic() < end:
        if check():
            return
        time.sleep(0.05)
    raise SystemExit(f"after {ENOUGH} s still not: {what}")


def is_good(port, path):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False


def is_ready(port):
    return is_good(port, "/readyz")


def as_postgres():
    """Before a command of PostgreSQL's, which does not run as root."""
    return ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    told, lock = {}, threading.Lock()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.lock:
            self.told.setdefault(body["transaction_id"], []).append(self.headers["webhook-id"])
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Nodes:
    """Subclasses bring the database (`url`) and say what changes under load."""

    def __init__(self, count):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tillbell-long-"))
        os.chmod(self.folder, 0o755)
        *self.ports, self.hook_port = free_ports(count + 1)
        self.nodes, self.answers, self.wrong, self.moments = [None] * count, 0, [], []
        self.is_over, self.lock, self.paid = threading.Event(), threading.Lock(), []

    def postgres(self):
        """A PostgreSQL server of its own, fsync on, with an empty database."""
        data, [port] = self.folder / "postgres", free_ports(1)
        data.mkdir()
        if as_postgres():
            shutil.chown(data, "postgres")
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "cwd": "/"}
        subprocess.run([*as_postgres(), str(POSTGRES / "initdb"), "-A", "trust", "-U", "till", "-D", str(data)], **quiet)
        run = [str(POSTGRES / "postgres"), "-D", str(data), "-p", str(port), "-k", "", "-c", "listen_addresses=127.0.0.1",
               "-c", "max_connections=200"]
        self.server = subprocess.Popen([*as_postgres(), *run], cwd="/", stderr=open(self.folder / "postgres.log", "w"))
        ready = [str(POSTGRES / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
        until("the database answers", lambda: subprocess.run(ready).returncode == 0)
        subprocess.run([str(POSTGRES / "createdb"), "-h", "127.0.0.1", "-p", str(port), "-U", "till", "till"], **quiet)
        self.url = f"postgres://till@127.0.0.1:{port}/till"

    def environment(self, port=None):
        settings = {"DATABASE__URL": self.url, "SECRET__KEY_FILE": str(self.folder / "key"), "SERVER__DEV": "true"}
        if port:
            settings |= {"SERVER__LISTEN": f"127.0.0.1:{port}", "SERVER__STOP_DELAY": "1s"}
        return {"PATH": os.environ["PATH"]} | {f"TILLBELL_{name}": value for name, value in settings.items()}

    def command(self, program, *args):
        done = subprocess.run([program, "--json", *args], env=self.environment(), cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{args}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout) if done.stdout.strip() else {}

    def prepare(self, program):
        """The schema, a business with its test key, and whoever receives its webhooks."""
        self.command(program, "migrate")
        self.command(program, "business", "add", "--name", "Adire", "--email", "till@adire.example")
        self.command(program, "business", "set", "1", "--rate-limit", "1000000")
        self.hook = f"http://127.0.0.1:{self.hook_port}/hook"
        self.command(program, "website", "add", "1", f"http://127.0.0.1:{self.hook_port}", "--approve")
        self.key = self.command(program, "key", "add", "1", "--test")["key"]
        receiver = http.server.ThreadingHTTPServer(("127.0.0.1", self.hook_port), Receiver)
        threading.Thread(target=receiver.serve_forever, daemon=True).start()

    def start(self, n, program):
        log = open(self.folder / f"node{n}.log", "a")
        self.nodes[n] = subprocess.Popen([program, "serve"], env=self.environment(self.ports[n]), cwd=self.folder, stdout=log, stderr=log)
        until(f"node {n} is ready", lambda: is_ready(self.ports[n]))

    def ask(self, port, method, path, body=None):
        """Status and answer; status 0 where none came."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            headers = {"X-API-Key": self.key, "Content-Type": "application/json"}
            connection.request(method, f"/api/v1{path}", json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            return 0, repr(error)

    def asked_for(self, lane, n):
        """A payment, and the transfer that pays it."""
        name, amount = f"U{lane}-{n}", 1000 + n
        asked = {"transaction_id": name, "amount": amount, "payer_name": PAYERS[lane], "webhook_url": self.hook}
        return asked, {"transaction_id": name, "amount": amount, "payer_name": PAYERS[lane]}

    def call_in(self, *lanes):
        self.callers = [threading.Thread(target=self.call, args=(lane,), daemon=True) for lane in lanes]
        [one.start() for one in self.callers]

    def done(self, name, *wrong):
        with self.lock:
            self.wrong.extend(wrong)
            if not wrong:
                self.paid.append(name)
            self.answers += 1
            self.moments.append(time.monotonic())

    def go_on(self):
        before = self.answers
        until("callers are answered", lambda: self.answers >= before + BETWEEN)
        self.look()

    def look(self):
        if self.wrong:
            raise SystemExit(f"a caller met {self.wrong[:3]}, {len(self.wrong)} in all")

    def finish(self, program):
        """The callers end; what they paid is told, and the books are true."""
        self.is_over.set()
        [one.join() for one in self.callers]
        self.look()
        untold = lambda: [name for name in self.paid if name not in Receiver.told]
        until("every payment is told", lambda: not untold())
        audit = self.command(program, "audit")
        print(f"{len(self.paid)} payments, each told; audit in order: {bool(audit)}")

    def end(self, *beside):
        for one in [*self.nodes, *beside]:
            if one:
                one.terminate()
                try:
                    one.wait(20)
                except subprocess.TimeoutExpired:
                    one.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
