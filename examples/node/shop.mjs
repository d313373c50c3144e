// A shop page that is paid by bank transfer through tillbell: create a payment, show its checkout page, hear that the money
// is in.
//
//     npm install
//     TILLBELL_URL=http://127.0.0.1:8080 TILLBELL_KEY=tb_test_... TILLBELL_SECRET=whsec_... node shop.mjs
//
// Orders are kept in a file (SHOP_STATE) so that the shop may be stopped and started. A real shop has a database, and users.
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const { TILLBELL_URL, TILLBELL_KEY, TILLBELL_SECRET, SHOP_PORT = "4000", SHOP_STATE = "shop.json" } = process.env;
const OWN = process.env.SHOP_URL ?? `http://localhost:${SHOP_PORT}`;
const shop = existsSync(SHOP_STATE) ? JSON.parse(readFileSync(SHOP_STATE)) : { orders: {}, last: null };

function save() {
  writeFileSync(`${SHOP_STATE}.new`, JSON.stringify(shop));
  renameSync(`${SHOP_STATE}.new`, SHOP_STATE);
}

// One request to tillbell.
async function ask(method, path, body, key) {
  const headers = { "X-API-Key": TILLBELL_KEY, "Content-Type": "application/json" };
  if (key) headers["Idempotency-Key"] = key;
  const signal = AbortSignal.timeout(65_000);
  const answer = await fetch(`${TILLBELL_URL}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body), signal });
  const read = await answer.json();
  if (!read.success) throw new Error(read.message, { cause: read.code });
  return read;
}

// What an event changes here. The same one may come twice, by webhook and by catching up: the second changes nothing.
function heard(event) {
  const order = shop.orders[event.transaction_id];
  if (!order) return;
  // They may come in another order than they happened in: what was taken back stays so.
  if (event.event === "payment.approved" && order.status !== "taken back") order.status = "paid";
  if (event.event === "payment.reversed") order.status = "taken back";
  save();
}

// Reads what was missed while nobody listened, oldest first.
async function catchUp() {
  for (;;) {
    const query = new URLSearchParams({ limit: "100", ...(shop.last && { after: shop.last }) });
    let page;
    try {
      page = await ask("GET", `/events?${query}`);
    } catch (error) {
      if (error.cause !== "event_too_old") throw error;
      shop.last = null;
      await readOpenOrders();
      continue;
    }
    const { data, meta } = page;
    data.forEach(heard);
    shop.last = meta.last_id ?? shop.last;
    save();
    if (!meta.has_more) return;
  }
}

// After more than 30 days, which is how long events are listed.
async function readOpenOrders() {
  for (const id of Object.keys(shop.orders)) {
    const { data } = await ask("GET", `/payment/${encodeURIComponent(id)}`);
    // The payment stays approved when its money was taken back, and says when.
    const kind = data.reversed_at ? "payment.reversed" : "payment.approved";
    if (data.status === "approved") heard({ ...data, event: kind });
  }
}

const escape = (text) => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);

async function buy(name, response) {
  const id = `order-${randomUUID()}`;
  const wanted = { transaction_id: id, amount: 5000, payer_name: name, webhook_url: `${OWN}/hook`, return_url: `${OWN}/order/${id}` };
  let payment;
  try {
    payment = (await ask("POST", "/payment-request", wanted, id)).data;
  } catch (refused) {
    return send(response, 422, escape(refused.message));
  }
  const { amount, payer_name, account_number, account_name, bank_name } = payment;
  const how = `Transfer NGN ${amount.toFixed(2)} from an account of ${payer_name} to ${account_number}, ${account_name}, ${bank_name}.`;
  shop.orders[id] = { status: "waiting for your transfer", how };
  save();
  // The service's own page for the customer; without one, ours.
  send(response, 303, "", { Location: payment.checkout_url ?? `${OWN}/order/${id}` });
}

function send(response, status, text = "", headers = {}) {
  response.writeHead(status, { "Content-Type": "text/html; charset=utf-8", "Content-Length": Buffer.byteLength(text), ...headers });
  response.end(text);
}

const FORM = `<form method="post" action="/buy"><input name="name" placeholder="Your name as your bank has it">
<button>Buy a basket for NGN 5,000</button></form>`;

await catchUp();
createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const body = Buffer.concat(pieces).toString();
  // tillbell adds what became of the payment to the address; what counts is what the webhook said.
  const path = request.url.split("?")[0];
  const order = shop.orders[path.replace("/order/", "")];
  switch (`${request.method} ${path}`) {
    case "GET /":
      return send(response, 200, FORM);
    case "POST /buy":
      return buy(new URLSearchParams(body).get("name") ?? "", response);
    case "POST /hook":
      try {
        heard(new Webhook(TILLBELL_SECRET).verify(body, request.headers));
      } catch {
        return send(response, 400, "not signed by tillbell");
      }
      return send(response, 204);
    default:
      if (!order) return send(response, 404, "No such page");
      return send(response, 200, `<p>Your order is ${escape(order.status)}.</p><p>${order.status.startsWith("waiting") ? escape(order.how) : ""}</p>`);
  }
}).listen(Number(SHOP_PORT), "127.0.0.1", () => console.log(`the shop is open on ${OWN}`));
