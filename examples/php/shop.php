<?php
// A shop page that is paid by bank transfer through tillbell: create a payment, show its checkout page, hear that the money
// is in. PHP alone, no library: the signature is checked as Standard Webhooks 1.0 says, in is_genuine() below.
//
//     export TILLBELL_URL=http://127.0.0.1:8080 TILLBELL_KEY=tb_test_... TILLBELL_SECRET=whsec_...
//     php shop.php            # reads what was missed; run it at start, and now and then
//     php -S 127.0.0.1:4000 shop.php
//
// Orders are kept in a file (SHOP_STATE). A real shop has a database, and users.
declare(strict_types=1);

const STANDARD_TOLERANCE = 300;

function setting(string $name, string $otherwise = ''): string { return getenv($name) ?: $otherwise; }
function own(): string { return setting('SHOP_URL', 'http://localhost:' . setting('SHOP_PORT', '4000')); }

/** Changes what is kept, one at a time. */
function with_shop(callable $change): mixed {
    $file = fopen(setting('SHOP_STATE', 'shop.json'), 'c+');
    flock($file, LOCK_EX);
    $shop = json_decode(stream_get_contents($file) ?: '', true) ?: ['orders' => [], 'last' => null];
    $result = $change($shop);
    ftruncate($file, 0);
    rewind($file);
    fwrite($file, json_encode($shop));
    fclose($file);
    return $result;
}

/** One request to tillbell; answers the decoded body, whatever the status. */
function ask(string $method, string $path, ?array $body = null, string $key = ''): array {
    $headers = ['X-API-Key: ' . setting('TILLBELL_KEY'), 'Content-Type: application/json'];
    if ($key !== '') $headers[] = "Idempotency-Key: $key";
    $http = ['method' => $method, 'header' => $headers, 'timeout' => 65, 'ignore_errors' => true];
    if ($body !== null) $http['content'] = json_encode($body);
    $answer = file_get_contents(setting('TILLBELL_URL') . "/api/v1$path", false, stream_context_create(['http' => $http]));
    return json_decode((string) $answer, true) ?? ['success' => false, 'message' => 'tillbell does not answer'];
}

/** Whether tillbell signed it. */
function is_genuine(string $secret, array $headers, string $body): bool {
    $headers = array_change_key_case($headers, CASE_LOWER);
    $at = $headers['webhook-timestamp'] ?? '';
    $event = $headers['webhook-id'] ?? '';
    if ($event === '' || !preg_match('/^[0-9]{1,12}$/D', $at) || abs(time() - (int) $at) > STANDARD_TOLERANCE) return false;
    $key = base64_decode(substr($secret, strlen('whsec_')));
    $want = base64_encode(hash_hmac('sha256', "$event.$at.$body", $key, true));
    foreach (explode(' ', $headers['webhook-signature'] ?? '') as $given) {
        if (str_starts_with($given, 'v1,') && hash_equals($want, substr($given, 3))) return true;
    }
    return false;
}

/** What an event changes here. The same one may come twice, by webhook and by catching up: the second changes nothing. */
function heard(array &$shop, array $event): void {
    $id = $event['transaction_id'] ?? '';
    if (!isset($shop['orders'][$id])) return;
    // They may come in another order than they happened in: what was taken back stays so.
    $isBack = $shop['orders'][$id]['status'] === 'taken back';
    if ($event['event'] === 'payment.approved' && !$isBack) $shop['orders'][$id]['status'] = 'paid';
    if ($event['event'] === 'payment.reversed') $shop['orders'][$id]['status'] = 'taken back';
}

/** Reads what was missed while nobody listened, oldest first. */
function catch_up(): void {
    do {
        $last = with_shop(fn (array &$shop) => $shop['last']);
        $page = ask('GET', '/events?' . http_build_query(['limit' => 100] + ($last ? ['after' => $last] : [])));
        if (!$page['success'] && $page['code'] === 'event_too_old') {
            with_shop(function (array &$shop): void { $shop['last'] = null; });
            read_open_orders();
            $page['meta']['has_more'] = true;
            continue;
        }
        if (!$page['success']) exit($page['message'] . "\n");
        with_shop(function (array &$shop) use ($page): void {
            foreach ($page['data'] as $event) heard($shop, $event);
            $shop['last'] = $page['meta']['last_id'] ?? $shop['last'];
        });
    } while ($page['meta']['has_more']);
}

/** After more than 30 days, which is how long events are listed. */
function read_open_orders(): void {
    foreach (array_keys(with_shop(fn (array &$shop) => $shop['orders'])) as $id) {
        $answer = ask('GET', '/payment/' . rawurlencode($id));
        if (($answer['data']['status'] ?? '') !== 'approved') continue;
        // The payment stays approved when its money was taken back, and says when.
        $kind = isset($answer['data']['reversed_at']) ? 'payment.reversed' : 'payment.approved';
        with_shop(fn (array &$shop) => heard($shop, ['event' => $kind] + $answer['data']));
    }
}

function buy(string $name): void {
    $id = 'order-' . bin2hex(random_bytes(16));
    $wanted = ['transaction_id' => $id, 'amount' => 5000, 'payer_name' => $name, 'webhook_url' => own() . '/hook', 'return_url' => own() . "/order/$id"];
    $answer = ask('POST', '/payment-request', $wanted, $id);
    if (!$answer['success']) {
        http_response_code(422);
        echo htmlspecialchars($answer['message']);
        return;
    }
    $of = $answer['data'];
    $how = sprintf('Transfer NGN %.2f from an account of %s to %s, %s, %s.', $of['amount'], $of['payer_name'], $of['account_number'], $of['account_name'], $of['bank_name']);
    with_shop(function (array &$shop) use ($id, $how): void {
        $shop['orders'][$id] = ['status' => 'waiting for your transfer', 'how' => $how];
    });
    // The service's own page for the customer; without one, ours.
    header('Location: ' . ($of['checkout_url'] ?? own() . "/order/$id"), true, 303);
}

if (PHP_SAPI === 'cli') {
    catch_up();
    exit("nothing is missed\n");
}

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
switch ($_SERVER['REQUEST_METHOD'] . ' ' . $path) {
    case 'GET /':
        echo '<form method="post" action="/buy"><input name="name" placeholder="Your name as your bank has it"><button>Buy a basket for NGN 5,000</button></form>';
        break;
    case 'POST /buy':
        buy((string) ($_POST['name'] ?? ''));
        break;
    case 'POST /hook':
        $body = file_get_contents('php://input');
        $genuine = is_genuine(setting('TILLBELL_SECRET'), getallheaders(), $body);
        if ($genuine) with_shop(fn (array &$shop) => heard($shop, json_decode($body, true)));
        http_response_code($genuine ? 204 : 400);
        break;
    default:
        $order = with_shop(fn (array &$shop) => $shop['orders'][substr($path, strlen('/order/'))] ?? null);
        if ($order === null) http_response_code(404);
        else echo "<p>Your order is {$order['status']}.</p><p>" . (str_starts_with($order['status'], 'waiting') ? htmlspecialchars($order['how']) : '') . '</p>';
}
