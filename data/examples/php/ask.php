<?php
// Asks about one teacher. PHP 8.1 or later, with its openssl extension for https (tested with PHP 8.2).
//   API_KEY='tvs_test_...' php ask.php ISSUER PURPOSE REGISTRATION_NUMBER
// Saves the answer and the keys that prove it: envelope.json, jwks.json, key-history.jose. Verify before you rely on it.
[, $issuer, $purpose, $regNo] = $argv;
$idempotencyKey = bin2hex(random_bytes(16)); // the same for each retry of one question
$begunAt = time();

/**
 * Asks again up to three times what the service could not answer; ends with what it refused. A redirect
 * is a failure too: a key is for the address that it is meant for, and not for wherever that leads. Gives body and head.
 */
function call(string $url, array $options = []): array {
    $context = stream_context_create(['http' => $options + ['ignore_errors' => true, 'timeout' => 15, 'follow_location' => 0]]);
    for ($attempt = 0; ; $attempt++) {
        $http_response_header = [];
        $body = @file_get_contents($url, false, $context);
        $status = (int) substr($http_response_header[0] ?? '', 9, 3);
        if ($status === 200) return [$body, $http_response_header];
        $answer = json_decode((string) $body, true);
        $waitSeconds = $status === 429 ? ($answer['retryAfterSeconds'] ?? 1) : 2 ** $attempt;
        $mayHelp = $status === 0 || $status === 429 || $status >= 500;
        if (!$mayHelp || $attempt === 3 || $waitSeconds > 60) {
            $code = implode(preg_grep('/^X-Error-Code:/i', $http_response_header)) ?: $status;
            fwrite(STDERR, "$code: " . ($answer['message'] ?? 'no answer') . "\n");
            exit(1);
        }
        sleep($waitSeconds);
    }
}

/** Whether this is the answer to the question: somebody on the way may have kept a genuine one to another. */
function isMine(object $envelope, array $head, string $regNo, int $begunAt): bool {
    $about = $envelope->result->found ? $envelope->result->certificate->regNo : null;
    $named = preg_grep('/^X-Verification-Id: *' . preg_quote($envelope->verificationId, '/') . '$/i', $head);
    $signedAt = strtotime($envelope->verifiedAt);
    return in_array($about, [null, strtoupper(preg_replace('/\s/', '', $regNo))], true)
        && count($named) === 1 && $signedAt >= $begunAt - 60 && $signedAt <= time() + 60;
}

$api = "$issuer/v1/inter-agency";
[$envelope, $head] = call("$api/eligibility-check", [
    'method' => 'POST',
    'header' => [
        'Authorization: Bearer ' . getenv('API_KEY'),
        'Content-Type: application/json',
        "Idempotency-Key: $idempotencyKey",
    ],
    'content' => json_encode(['identifier' => ['regNo' => $regNo], 'purpose' => $purpose]),
]);
if (!isMine(json_decode($envelope), $head, $regNo, $begunAt)) {
    fwrite(STDERR, "this answers another question\n");
    exit(1);
}
file_put_contents('envelope.json', $envelope);
file_put_contents('jwks.json', call("$api/.well-known/jwks.json")[0]);
file_put_contents('key-history.jose', call("$api/.well-known/key-history")[0]);
$result = json_decode($envelope)->result;
echo json_encode(['found' => $result->found, 'status' => $result->status, 'eligible' => $result->eligible,
    'reasons' => $result->reasons]), "\n";
