"""A shop page that is paid by bank transfer through tillbell: create a payment, show its checkout page, hear that the money is in.

    pip install -r requirements.txt
    TILLBELL_URL=http://127.0.0.1:8080 TILLBELL_KEY=tb_test_... TILLBELL_SECRET=whsec_... python shop.py

Orders are kept in a file (SHOP_STATE) so that the shop may be stopped and started. A real shop has a database, and users.
"""
import html, json, os, urllib.error, urllib.parse, urllib.request, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

API = os.environ["TILLBELL_URL"] + "/api/v1"
PORT = int(os.environ.get("SHOP_PORT", "4000"))
OWN = os.environ.get("SHOP_URL", f"http://localhost:{PORT}")
STATE = os.environ.get("SHOP_STATE", "shop.json")
lock = Lock()
shop = {"orders": {}, "last": None}
if os.path.exists(STATE):
    with open(STATE) as file:
        shop = json.load(file)


def save():
    with open(STATE + ".new", "w") as file:
        json.dump(shop, file)
    os.replace(STATE + ".new", STATE)


def ask(method, path, body=None, key=None):
    """One request to tillbell. Numbers stay texts: an amount is never a float."""
    request = urllib.request.Request(API + path, method=method, data=json.dumps(body).encode() if body else None)
    request.add_header("X-API-Key", os.environ["TILLBELL_KEY"])
    request.add_header("Content-Type", "application/json")
    if key:
        request.add_header("Idempotency-Key", key)
    with urllib.request.urlopen(request, timeout=65) as answer:
        return json.load(answer, parse_float=str)


def heard(event):
    """What an event changes here. The same one may come twice, by webhook and by catching up: the second changes nothing.
    They may come in another order than they happened in: what was taken back stays so."""
    order = shop["orders"].get(event.get("transaction_id"))
    if order is None:
        return
    if event["event"] == "payment.approved" and order["status"] != "taken back":
        order.update(status="paid", received=event["received_amount"])
    elif event["event"] == "payment.reversed":
        order.update(status="taken back")
    save()


def catch_up():
    """Reads what was missed while nobody listened, oldest first."""
    while True:
        after = {"after": shop["last"]} if shop["last"] else {}
        try:
            page = ask("GET", "/events?" + urllib.parse.urlencode({"limit": 100, **after}))
        except urllib.error.HTTPError as error:
            if json.load(error)["code"] != "event_too_old":
                raise
            shop["last"] = None
            read_open_orders()
            continue
        for event in page["data"]:
            heard(event)
        shop["last"] = page["meta"]["last_id"] or shop["last"]
        save()
        if not page["meta"]["has_more"]:
            return


def read_open_orders():
    """After more than 30 days, which is how long events are listed."""
    for id, order in shop["orders"].items():
        payment = ask("GET", "/payment/" + urllib.parse.quote(id, safe=""))["data"]
        if payment["status"] == "approved":
            # The payment stays approved when its money was taken back, and says when.
            heard({**payment, "event": "payment.reversed" if payment["reversed_at"] else "payment.approved"})


class Page(BaseHTTPRequestHandler):
    def answer(self, status, text="", **headers):
        body = text.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "text/html; charset=utf-8", "Content-Length": len(body), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        # tillbell adds what became of the payment to the address; what counts is what the webhook said.
        path = urllib.parse.urlsplit(self.path).path
        order = shop["orders"].get(path.removeprefix("/order/"))
        if path == "/":
            self.answer(200, '<form method="post" action="/buy"><input name="name" placeholder="Your name as your bank has it">'
                             '<button>Buy a basket for NGN 5,000</button></form>')
        elif order:
            how = html.escape(order["how"]) if order["status"].startswith("waiting") else ""
            self.answer(200, f"<p>Your order is {html.escape(order['status'])}.</p><p>{how}</p>")
        else:
            self.answer(404, "No such page")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path == "/buy":
            name = urllib.parse.parse_qs(body.decode()).get("name", [""])[0]
            with lock:
                self.buy(name)
        elif self.path == "/hook":
            try:
                event = Webhook(os.environ["TILLBELL_SECRET"]).verify(body, dict(self.headers.items()))
            except WebhookVerificationError:
                return self.answer(400, "not signed by tillbell")
            with lock:
                heard({**event, "received_amount": str(event.get("received_amount"))})
            self.answer(204)
        else:
            self.answer(404, "No such page")

    def buy(self, name):
        id = f"order-{uuid.uuid4()}"
        wanted = {"transaction_id": id, "amount": 5000, "payer_name": name, "webhook_url": OWN + "/hook",
                  "return_url": f"{OWN}/order/{id}"}
        try:
            payment = ask("POST", "/payment-request", wanted, key=id)["data"]
        except urllib.error.HTTPError as refused:
            return self.answer(422, html.escape(json.load(refused)["message"]))
        how = "Transfer NGN {amount} from an account of {payer_name} to {account_number}, {account_name}, {bank_name}."
        shop["orders"][id] = {"status": "waiting for your transfer", "how": how.format(**payment)}
        save()
        # The service's own page for the customer; without one, ours.
        self.answer(303, Location=payment.get("checkout_url") or f"{OWN}/order/{id}")

    def log_message(self, *_):
        pass


catch_up()
print(f"the shop is open on {OWN}", flush=True)
ThreadingHTTPServer(("127.0.0.1", PORT), Page).serve_forever()
