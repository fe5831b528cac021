<?php // WEBHOOK_SECRET='whsec_...' php -S 127.0.0.1:9876 receiver.php
const HEADER = '/^t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?$/D';

function genuine(string $header, string $rawBody, int $nowSeconds): bool {
    if (!preg_match(HEADER, $header, $match) || abs($nowSeconds - (int) $match[1]) > 300) return false;
    $secret = (string) getenv('WEBHOOK_SECRET'); // the whole text, whsec_ included
    $expected = hash_hmac('sha256', $match[1] . '.' . $rawBody, $secret);
    foreach (array_slice($match, 2) as $digest) {
        if (hash_equals($expected, $digest)) return true;
    }
    return false;
}

$rawBody = file_get_contents('php://input'); // the bytes as they came, before anything parses them
if (!genuine($_SERVER['HTTP_X_AGENCY_SIGNATURE'] ?? '', $rawBody, time())) {
    http_response_code(400);
    exit;
}
$event = json_decode($rawBody, true); // $event['eventId'] may come twice: keep the ids that you have handled
error_log($event['eventType'] . ' ' . $event['data']['regNo']);
http_response_code(204);
