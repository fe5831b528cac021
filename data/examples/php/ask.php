<?php
// Asks about one teacher. PHP 8.1 or later, with its openssl extension for https (tested with PHP 8.2).
//   API_KEY='tvs_test_...' php ask.php ISSUER PURPOSE REGISTRATION_NUMBER
// Saves the answer and the keys that prove it: envelope.json, jwks.json, key-history.jose. Verify before you rely on it.
[, $issuer, $purpose, $regNo] = $argv;
$idempotencyKey = bin2hex(random_bytes(16)); // the same for each retry of one question

/**
 * Asks again up to three times what the service could not answer; ends with what it refused. A redirect
 * is a failure too: a key is for the address that it is meant for, and not for wherever that leads.
 */
function call(string $url, array $options = []): string {
    $context = stream_context_create(['http' => $options + ['ignore_errors' => true, 'timeout' => 15, 'follow_location' => 0]]);
    for ($attempt = 0; ; $attempt++) {
        $http_response_header = [];
        $body = @file_get_contents($url, false, $context);
        $status = (int) substr($http_response_header[0] ?? '', 9, 3);
        if ($status === 200) return $body;
        $answer = json_decode((string) $body, true);
        $waitSeconds = $status === 429 ? ($answer['retryAfterSeconds'] ?? 1) : 2 ** $attempt;
        $mayHelp = $status === 0 || $status === 429 || $status >= 500;
        if (!$mayHelp || $attempt === 3 || $waitSeconds > 60) {
            fwrite(STDERR, "$status: " . ($answer['message'] ?? 'no answer') . "\n");
            exit(1);
        }
        sleep($waitSeconds);
    }
}

$api = "$issuer/v1/inter-agency";
$envelope = call("$api/eligibility-check", [
    'method' => 'POST',
    'header' => [
        'Authorization: Bearer ' . getenv('API_KEY'),
        'Content-Type: application/json',
        "Idempotency-Key: $idempotencyKey",
    ],
    'content' => json_encode(['identifier' => ['regNo' => $regNo], 'purpose' => $purpose]),
]);
file_put_contents('envelope.json', $envelope);
file_put_contents('jwks.json', call("$api/.well-known/jwks.json"));
file_put_contents('key-history.jose', call("$api/.well-known/key-history"));
$result = json_decode($envelope)->result;
echo json_encode(['found' => $result->found, 'status' => $result->status, 'eligible' => $result->eligible,
    'reasons' => $result->reasons]), "\n";
