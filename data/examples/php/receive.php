<?php
// Receives webhooks. PHP 8.1 or later, nothing to install (tested with PHP 8.2). Behind any web server, or to try it:
//   TVS_WEBHOOK_SECRET='whsec_...' PORT=9876 php receive.php
// One delivery that you kept: php receive.php --check BODY_FILE SIGNATURE UNIX_SECONDS (exit 0 genuine, 1 not)
const HEADER = '/^t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?$/D';

const MAX_BODY_BYTES = 64 * 1024; // the service's deliveries have some hundred bytes

/** "valid", or why not. The body is the bytes as they came, before anything parses them. */
function verify(string $rawBody, string $header, int $nowSeconds): string {
    if (!preg_match(HEADER, $header, $match)) return 'SIGNATURE_HEADER_MALFORMED';
    $secret = (string) getenv('TVS_WEBHOOK_SECRET'); // the whole text, whsec_ included
    $expected = hash_hmac('sha256', "$match[1].$rawBody", $secret);
    $isGenuine = hash_equals($expected, $match[2]) || hash_equals($expected, $match[3] ?? '');
    if (!$isGenuine) return 'SIGNATURE_MISMATCH';
    return abs($nowSeconds - (int) $match[1]) > 300 ? 'OUTSIDE_REPLAY_WINDOW' : 'valid';
}

if (!preg_match('/^[\x21-\x7e]+$/D', (string) getenv('TVS_WEBHOOK_SECRET'))) {
    error_log('set TVS_WEBHOOK_SECRET to the secret alone: no spaces, line ends or byte order mark');
    exit(2);
}
if (PHP_SAPI === 'cli' && ($argv[1] ?? '') === '--check') {
    $verdict = verify(file_get_contents($argv[2]), $argv[3], (int) $argv[4]);
    echo "$verdict\n";
    exit($verdict === 'valid' ? 0 : 1);
}
if (PHP_SAPI === 'cli') { // PHP's own web server, which runs this file for each request
    $arguments = ['-S', '127.0.0.1:' . (getenv('PORT') ?: '9876'), __FILE__];
    if (function_exists('pcntl_exec')) pcntl_exec(PHP_BINARY, $arguments);
    passthru(implode(' ', array_map('escapeshellarg', [PHP_BINARY, ...$arguments])));
    exit;
}
$rawBody = file_get_contents('php://input', length: MAX_BODY_BYTES + 1);
if (strlen($rawBody) > MAX_BODY_BYTES) {
    http_response_code(413);
    exit;
}
if (verify($rawBody, $_SERVER['HTTP_X_AGENCY_SIGNATURE'] ?? '', time()) !== 'valid') {
    http_response_code(400);
    exit;
}
http_response_code(204);
// Keep the eventId in your database and work afterwards: an event can come twice, and then has the same one.
$event = json_decode($rawBody);
error_log("$event->eventType {$event->data->regNo}");
