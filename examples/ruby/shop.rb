# A shop page that is paid by bank transfer through tillbell: create a payment, show its checkout page, hear that the money is
# in. Ruby's own libraries alone: the signature is checked as Standard Webhooks 1.0 says, in genuine? below.
#
#     TILLBELL_URL=http://127.0.0.1:8080 TILLBELL_KEY=tb_test_... TILLBELL_SECRET=whsec_... ruby shop.rb
#
# Orders are kept in a file (SHOP_STATE) so that the shop may be stopped and started. A real shop has a database, and users.
require "cgi"
require "json"
require "net/http"
require "openssl"
require "securerandom"
require "socket"

PORT = ENV.fetch("SHOP_PORT", "4000").to_i
OWN = ENV.fetch("SHOP_URL", "http://localhost:#{PORT}")
STATE = ENV.fetch("SHOP_STATE", "shop.json")
TOLERANCE = 300
BODY_MAX = 1_000_000
SHOP = File.exist?(STATE) ? JSON.parse(File.read(STATE)) : { "orders" => {}, "last" => nil }
LOCK = Mutex.new

def save
  File.write("#{STATE}.new", JSON.generate(SHOP))
  File.rename("#{STATE}.new", STATE)
end

# One request to tillbell; answers the decoded body, whatever the status.
def ask(method, path, body = nil, key = nil)
  address = URI("#{ENV.fetch("TILLBELL_URL")}/api/v1#{path}")
  headers = { "X-API-Key" => ENV.fetch("TILLBELL_KEY"), "Content-Type" => "application/json" }
  headers["Idempotency-Key"] = key if key
  Net::HTTP.start(address.host, address.port, use_ssl: address.scheme == "https", read_timeout: 65) do |http|
    JSON.parse(http.send_request(method, address.request_uri, body && JSON.generate(body), headers).body)
  end
end

# Whether tillbell signed it.
def genuine?(secret, headers, body)
  id, at = headers["webhook-id"].to_s, headers["webhook-timestamp"].to_s
  return false if id.empty? || !at.match?(/\A[0-9]{1,12}\z/) || (Time.now.to_i - at.to_i).abs > TOLERANCE
  key = secret.delete_prefix("whsec_").unpack1("m")
  want = [OpenSSL::HMAC.digest("SHA256", key, "#{id}.#{at}.#{body}")].pack("m0")
  given = headers["webhook-signature"].to_s.split.filter_map { |one| one[3..] if one.start_with?("v1,") }
  given.any? { |one| OpenSSL.secure_compare(want, one) }
end

# What an event changes here. The same one may come twice, by webhook and by catching up: the second changes nothing.
def heard(event)
  order = SHOP["orders"][event["transaction_id"]] or return
  # They may come in another order than they happened in: what was taken back stays so.
  order["status"] = "paid" if event["event"] == "payment.approved" && order["status"] != "taken back"
  order["status"] = "taken back" if event["event"] == "payment.reversed"
  save
end

# Reads what was missed while nobody listened, oldest first.
def catch_up
  loop do
    query = URI.encode_www_form({ limit: 100, after: SHOP["last"] }.compact)
    page = ask("GET", "/events?#{query}")
    if page["code"] == "event_too_old"
      SHOP["last"] = nil
      read_open_orders
      next
    end
    abort page["message"] unless page["success"]
    page["data"].each { |event| heard(event) }
    SHOP["last"] = page["meta"]["last_id"] || SHOP["last"]
    save
    break unless page["meta"]["has_more"]
  end
end

# After more than 30 days, which is how long events are listed.
def read_open_orders
  SHOP["orders"].each_key do |id|
    payment = ask("GET", "/payment/#{URI.encode_www_form_component(id)}")["data"]
    # The payment stays approved when its money was taken back, and says when.
    kind = payment["reversed_at"] ? "payment.reversed" : "payment.approved"
    heard(payment.merge("event" => kind)) if payment["status"] == "approved"
  end
end

def buy(name)
  id = "order-#{SecureRandom.uuid}"
  wanted = { transaction_id: id, amount: 5000, payer_name: name, webhook_url: "#{OWN}/hook", return_url: "#{OWN}/order/#{id}" }
  answer = ask("POST", "/payment-request", wanted, id)
  return [422, CGI.escapeHTML(answer["message"]), {}] unless answer["success"]
  of = answer["data"]
  how = format("Transfer NGN %.2f from an account of %s to %s, %s, %s.", *of.values_at("amount", "payer_name", "account_number", "account_name", "bank_name"))
  SHOP["orders"][id] = { "status" => "waiting for your transfer", "how" => how }
  save
  # The service's own page for the customer; without one, ours.
  [303, "", { "Location" => of["checkout_url"] || "#{OWN}/order/#{id}" }]
end

FORM = '<form method="post" action="/buy"><input name="name" placeholder="Your name as your bank has it">' \
       "<button>Buy a basket for NGN 5,000</button></form>"

def answer(verb, path, headers, body)
  case "#{verb} #{path}"
  when "GET /" then [200, FORM, {}]
  when "POST /buy" then buy(URI.decode_www_form(body).to_h.fetch("name", ""))
  when "POST /hook"
    return [400, "not signed by tillbell", {}] unless genuine?(ENV.fetch("TILLBELL_SECRET"), headers, body)
    heard(JSON.parse(body))
    [204, "", {}]
  else
    order = SHOP["orders"][path.delete_prefix("/order/")] or return [404, "No such page", {}]
    how = order["status"].start_with?("waiting") ? CGI.escapeHTML(order["how"]) : ""
    [200, "<p>Your order is #{order["status"]}.</p><p>#{how}</p>", {}]
  end
end

def serve(client)
  verb, path = client.gets.to_s.split
  headers = {}
  while (line = client.gets&.chomp) && !line.empty?
    name, value = line.split(": ", 2)
    headers[name.downcase] = value
  end
  body = client.read([headers["content-length"].to_i, BODY_MAX].min).to_s
  # tillbell adds what became of the payment to the address; what counts is what the webhook said.
  status, text, more = LOCK.synchronize { answer(verb, path.to_s.split("?").first, headers, body) }
  lines = { "Content-Type" => "text/html; charset=utf-8", "Content-Length" => text.bytesize, "Connection" => "close", **more }
  client.write("HTTP/1.1 #{status} -\r\n#{lines.map { |name, value| "#{name}: #{value}\r\n" }.join}\r\n#{text}")
ensure
  client.close
end

catch_up
server = TCPServer.new("127.0.0.1", PORT)
puts "the shop is open on #{OWN}"
$stdout.flush
loop { Thread.new(server.accept) { |client| serve(client) } }
