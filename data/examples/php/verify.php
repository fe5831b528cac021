<?php
// Verifies one envelope offline. PHP 8.1 or later with its openssl and zlib extensions (tested with PHP 8.2).
//   php verify.php envelope.json jwks.json key-history.jose ISSUER YOUR_PARTNER_ID [offline-pack.json]
// Prints "valid" and exits 0, or prints the reason: 1 is refused, 2 cannot be decided with these files.
// Of a batch response, each member of "results" is an envelope. Fetch the key files from the service yourself.
// A sixth word, the service's offline pack or a status list, tells whether the answer was withdrawn since.
const UNDECIDABLE = ['NOT_AN_ENVELOPE', 'TEXT_DAMAGED', 'KID_UNKNOWN', 'KEY_SET_UNREADABLE', 'KEY_HISTORY_UNREADABLE',
    'FILE_UNREADABLE', 'STATUS_LIST_UNUSABLE', 'STATUS_LIST_STALE'];
const MAX_LIST_AGE = 7 * 86400;
const STATUSES = ['VALID', 'EXPIRED', 'NOT_FOUND', 'REVOKED'];
const UTC_TIME = '/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/D';

class Refused extends Exception {}

function ensure(mixed $condition, string $reason): void {
    if (!$condition) throw new Refused($reason);
}

function isText(mixed $value): bool {
    return is_string($value) && $value !== '';
}

function countMembers(mixed $value): int {
    if (!is_object($value) && !is_array($value)) return 0;
    $count = is_object($value) ? count((array) $value) : 0;
    foreach ((array) $value as $inner) $count += countMembers($inner);
    return $count;
}

/** json_decode keeps the last of two members with one name: then more names are written than were read. */
function readObject(string $text, string $reason): object {
    $value = json_decode($text);
    ensure(is_object($value), $reason);
    $count = preg_match_all('/"(?:[^"\\\\]++|\\\\.)*+"(\s*:)?/s', $text, $matches);
    ensure($count !== false, $reason); // too long a text for a PCRE without JIT
    ensure(count(array_filter($matches[1])) === countMembers($value), 'JSON_DUPLICATE_MEMBER');
    return $value;
}

function encode(string $bytes): string {
    return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
}

/** One text for each signature: decoders also accept padding, white space and spare bits. */
function decode(mixed $part): string {
    ensure(is_string($part), 'BASE64URL_NOT_CANONICAL');
    $bytes = base64_decode(strtr($part, '-_', '+/'));
    ensure(is_string($bytes) && encode($bytes) === $part, 'BASE64URL_NOT_CANONICAL');
    return $bytes;
}

/** The header, which must not steer anything: RS256 alone, no extensions, no key of its own. */
function openJws(string $jws): array {
    $parts = explode('.', $jws);
    ensure(count($parts) === 3, 'JWS_MALFORMED');
    [$head, $payload, $signature] = array_map('decode', $parts);
    $header = (array) readObject($head, 'JWS_MALFORMED');
    ensure(($header['alg'] ?? null) === 'RS256', 'HEADER_ALG');
    ensure(!array_intersect_key($header, array_flip(['crit', 'b64'])), 'HEADER_CRIT');
    ensure(!array_intersect_key($header, array_flip(['jwk', 'jku', 'x5u', 'x5c'])), 'HEADER_KEY');
    ensure(!array_key_exists('typ', $header) || isText($header['typ']), 'HEADER_TYP');
    ensure(isText($header['kid'] ?? null), 'HEADER_KID');
    return [$header['kid'], $header['typ'] ?? null, $payload, "$parts[0].$parts[1]", $signature];
}

/** One element of DER, the encoding of keys that OpenSSL reads. */
function der(int $tag, string $body): string {
    $length = strlen($body);
    $bytes = $length < 128 ? chr($length) : ($length < 256 ? "\x81" . chr($length) : "\x82" . pack('n', $length));
    return chr($tag) . $bytes . $body;
}

function verifySignature(string $input, string $signature, object $jwk, string $reason): void {
    $number = fn (string $bytes) => der(2, ord($bytes) < 128 ? $bytes : "\0$bytes");
    $key = der(0x30, $number(decode($jwk->n)) . $number(decode($jwk->e)));
    $spki = der(0x30, hex2bin('300d06092a864886f70d0101010500') . der(3, "\0$key"));
    $pem = "-----BEGIN PUBLIC KEY-----\n" . chunk_split(base64_encode($spki), 64) . "-----END PUBLIC KEY-----\n";
    ensure(openssl_verify($input, $signature, $pem, OPENSSL_ALGO_SHA256) === 1, $reason);
}

/** One secret or weak key in a set, and nothing in the set can be trusted. */
function vetKey(mixed $jwk): bool {
    ensure(is_object($jwk) && isText($jwk->kty ?? null), 'KEY_SET_KEY_MALFORMED');
    foreach (['k', 'd', 'p', 'q', 'dp', 'dq', 'qi', 'oth'] as $secret) {
        ensure(!property_exists($jwk, $secret), 'KEY_SET_PRIVATE_KEY');
    }
    if ($jwk->kty !== 'RSA') return false;
    ensure(isText($jwk->kid ?? null), 'KEY_SET_KID_MISSING');
    ensure(($jwk->use ?? 'sig') === 'sig' && ($jwk->alg ?? 'RS256') === 'RS256', 'KEY_SET_KEY_MALFORMED');
    [$n, $e] = [decode($jwk->n ?? null), decode($jwk->e ?? null)];
    ensure($n !== '' && $n[0] !== "\0" && ord(substr($n, -1)) % 2 === 1, 'KEY_SET_KEY_MALFORMED');
    $bits = strlen($n) * 8 - 8 + strlen(decbin(ord($n)));
    ensure($bits >= 2048 && $bits <= 8192, 'KEY_SET_MODULUS_SIZE');
    $isOdd = $e !== '' && $e[0] !== "\0" && ord(substr($e, -1)) % 2 === 1;
    ensure($isOdd && strlen($e) <= 4 && $e !== "\1", 'KEY_SET_EXPONENT');
    return true;
}

function readKeySet(string $text): array {
    $keys = readObject($text, 'KEY_SET_UNREADABLE')->keys ?? null;
    ensure(is_array($keys), 'KEY_SET_UNREADABLE');
    $known = [];
    foreach (array_filter($keys, 'vetKey') as $jwk) $known[$jwk->kid] = (object) ['jwk' => $jwk];
    $kids = array_map(fn (object $jwk) => serialize($jwk->kid ?? null), $keys);
    ensure(count(array_unique($kids)) === count($keys), 'KEY_SET_DUPLICATE_KID');
    return $known;
}

/** Adds to each key when it was in use, as the history says that a key of the set has signed. */
function addHistory(array $keys, string $text, string $issuer): array {
    ensure(preg_match('/^[\w-]+\.[\w-]+\.[\w-]*$/D', trim($text)), 'KEY_HISTORY_UNREADABLE');
    [$signer, $typ, $payload, $input, $signature] = openJws(trim($text));
    ensure($typ === 'key-history+jwt', 'KEY_HISTORY_MALFORMED');
    ensure(isset($keys[$signer]), 'KEY_HISTORY_NOT_ANCHORED');
    verifySignature($input, $signature, $keys[$signer]->jwk, 'KEY_HISTORY_SIGNATURE_INVALID');
    $history = readObject($payload, 'KEY_HISTORY_MALFORMED');
    ensure(is_int($history->iat ?? null) && is_array($history->keys ?? null), 'KEY_HISTORY_MALFORMED');
    ensure(($history->iss ?? null) === $issuer, 'KEY_HISTORY_ISSUER_MISMATCH');
    $historic = [];
    foreach ($history->keys as $entry) {
        ensure(is_object($entry) && vetKey($entry->jwk ?? null), 'KEY_HISTORY_MALFORMED');
        $kid = $entry->jwk->kid;
        $own = ['active' => 'activatedAt', 'retired' => 'retiredAt', 'compromised' => 'compromisedSince'];
        foreach ($own as $time) {
            ensure(property_exists($entry, $time), 'KEY_HISTORY_MALFORMED');
            $isTime = is_string($entry->$time) && preg_match(UTC_TIME, $entry->$time);
            ensure($entry->$time === null || $isTime, 'KEY_HISTORY_MALFORMED');
        }
        $state = is_string($entry->state ?? null) ? $entry->state : '';
        $isSound = $state === 'pending' || (isset($own[$state]) && $entry->{$own[$state]} !== null);
        ensure($isSound && ($entry->kid ?? null) === $kid, 'KEY_HISTORY_MALFORMED');
        ensure(!isset($historic[$kid]), 'KEY_SET_DUPLICATE_KID');
        $historic[$kid] = $entry;
        $other = $keys[$kid]->jwk ?? $entry->jwk;
        ensure($other->n === $entry->jwk->n && $other->e === $entry->jwk->e, 'KEY_SET_CONFLICT');
        // A key that the set no longer has was taken out for a reason; it comes back only to be refused.
        if (isset($keys[$kid]) || $entry->compromisedSince !== null) $keys[$kid] = $entry;
    }
    ensure(isset($historic[$signer]), 'KEY_HISTORY_KID_UNKNOWN');
    ensure(!isCompromised($historic[$signer], timeOf($history->iat)), 'KEY_HISTORY_KEY_COMPROMISED');
    return $keys;
}

/** UTC to the second, for example 2026-03-01T09:30:00: such texts sort as the times do. */
function timeOf(int $seconds): string {
    ensure($seconds >= 0 && $seconds < 253402300800, 'CLAIM_TYPE');
    return gmdate('Y-m-d\TH:i:s', $seconds);
}

function isCompromised(object $key, string $time): bool {
    return $key->compromisedSince !== null && strcmp($time, substr($key->compromisedSince, 0, 19)) >= 0;
}

/** Who has a compromised key can sign anything, and no key signs before or after its time. */
function checkKeyAt(object $key, string $time): void {
    if (!isset($key->state)) return; // newer than the history
    ensure(!isCompromised($key, $time), 'KEY_COMPROMISED');
    $isBegun = $key->activatedAt !== null && strcmp($time, substr($key->activatedAt, 0, 19)) >= 0;
    $isOver = $key->retiredAt !== null && strcmp($time, substr($key->retiredAt, 0, 19)) > 0;
    ensure($isBegun && !$isOver, 'KEY_OUTSIDE_WINDOW');
}

function checkClaims(object $claims, string $issuer, string $audience): void {
    ensure(!is_array($claims->aud ?? null), 'AUDIENCE_NOT_SINGLE');
    foreach (['iss', 'aud', 'sub'] as $name) ensure(isText($claims->$name ?? null), 'CLAIM_TYPE');
    $now = time();
    foreach (['exp', 'nbf'] as $name) {
        $limit = property_exists($claims, $name) ? $claims->$name : $now;
        ensure(is_int($limit) || is_float($limit), 'CLAIM_TYPE');
    }
    ensure($claims->iss === $issuer, 'ISSUER_MISMATCH');
    ensure($claims->aud === $audience, 'AUDIENCE_MISMATCH');
    ensure($claims->iat <= $now + 60, 'ISSUED_IN_FUTURE');
    ensure(($claims->exp ?? $now) > $now - 60, 'TOKEN_EXPIRED');
    ensure(($claims->nbf ?? $now) <= $now + 60, 'TOKEN_NOT_YET_VALID');
}

/** The answer's place in a status list; null for an answer that names none. */
function placeOf(object $claims): ?array {
    if (!property_exists($claims, 'status')) return null;
    $place = is_object($claims->status) ? $claims->status->status_list ?? null : null;
    [$idx, $uri] = is_object($place) ? [$place->idx ?? null, $place->uri ?? null] : [null, null];
    ensure(is_int($idx) && $idx >= 0 && $idx < 2 ** 53 && isText($uri), 'CLAIM_TYPE');
    return [$idx, $uri];
}

/** A list with a good signature of a key that was never compromised, unpacked to its bits and no further. */
function openList(string $jws, array $keys): object {
    [$kid, $typ, $payload, $input, $signature] = openJws(trim($jws));
    $key = $keys[$kid] ?? null;
    $isOurs = $typ === 'statuslist+jwt' && $key !== null && !isset($key->compromisedSince);
    ensure($isOurs, 'STATUS_LIST_UNUSABLE');
    verifySignature($input, $signature, $key->jwk, 'STATUS_LIST_UNUSABLE');
    $list = readObject($payload, 'STATUS_LIST_UNUSABLE');
    ensure(is_int($list->iat ?? null) && is_int($list->exp ?? 0), 'STATUS_LIST_UNUSABLE');
    checkKeyAt($key, timeOf($list->iat));
    [$bits, $lst] = [$list->status_list->bits ?? null, $list->status_list->lst ?? null];
    ensure(in_array($bits, [1, 2, 4, 8], true), 'STATUS_LIST_UNUSABLE');
    $list->bytes = @gzuncompress(decode($lst), 2 ** 17 * $bits);
    ensure(is_string($list->bytes), 'STATUS_LIST_UNUSABLE');
    return $list;
}

/** The value at a place; -1 where the list has no such place. */
function valueAt(object $list, int $idx): int {
    $bits = $list->status_list->bits;
    $byte = intdiv($idx * $bits, 8);
    return $byte < strlen($list->bytes) ? ord($list->bytes[$byte]) >> ($idx * $bits % 8) & (2 ** $bits - 1) : -1;
}

/** What a list cannot tell is not known: that it was not withdrawn, only a list says that counts. */
function checkStatus(object $claims, array $lists, array $keys, string $issuer): void {
    [$idx, $uri] = placeOf($claims);
    $list = null;
    foreach ($lists as $jws) {
        try {
            $opened = openList($jws, $keys);
        } catch (Refused) {
            continue;
        }
        $opened->value = valueAt($opened, $idx);
        // Of two lists of one second the one that tells of more counts, whichever was given first.
        $isNewer = $list === null || [$opened->iat, $opened->value] > [$list->iat, $list->value];
        if (($opened->sub ?? null) === $uri && $isNewer) $list = $opened;
    }
    $now = time();
    $isOurs = $list !== null && str_starts_with($uri, "$issuer/v1/inter-agency/status/");
    ensure($isOurs && $list->iat <= $now + 60, 'STATUS_LIST_UNUSABLE');
    $isNew = $now - $list->iat <= MAX_LIST_AGE && $now < ($list->exp ?? PHP_INT_MAX);
    ensure($isNew, 'STATUS_LIST_STALE');
    ensure($list->value >= 0, 'STATUS_LIST_UNUSABLE');
    // Only a yes can be withdrawn: eligible, or a licence that was VALID.
    $isYes = $claims->result->eligible || ($claims->result->license->status ?? null) === 'VALID';
    if ($list->value === 0 || !$isYes) return;
    // What was withdrawn before the answer had been lifted when it was signed.
    ensure($list->iat >= $claims->iat - 60, 'STATUS_LIST_STALE');
    ensure(false, 'WITHDRAWN_SINCE');
}

/** The lists of an offline pack, or the one that the file is. */
function readLists(string $bytes): array {
    if (!str_starts_with(ltrim($bytes), '{')) return [$bytes];
    $lists = readObject($bytes, 'STATUS_LIST_UNUSABLE')->statusLists ?? null;
    ensure(is_array($lists) && $lists === array_filter($lists, 'is_string'), 'STATUS_LIST_UNUSABLE');
    return $lists;
}

/** The answer must not contradict itself, or who reads one member of it is misled. */
function checkResult(object $result): void {
    [$found, $eligible, $reasons] = [$result->found ?? null, $result->eligible ?? null, $result->reasons ?? null];
    $status = $result->status ?? null;
    ensure(is_bool($found) && is_bool($eligible) && in_array($status, STATUSES, true), 'RESULT_MALFORMED');
    ensure(is_array($reasons) && $reasons === array_filter($reasons, 'is_string'), 'RESULT_MALFORMED');
    ensure(!$eligible || ($found && $status === 'VALID'), 'RESULT_MALFORMED');
    $isDescribed = isset($result->teacher) || isset($result->license) || isset($result->certificate);
    ensure($found || ($status === 'NOT_FOUND' && !$isDescribed), 'RESULT_MALFORMED');
}

/** Compares types as well: for PHP's ==, 1 is "1" and true. */
function isSame(mixed $one, mixed $other): bool {
    if (gettype($one) !== gettype($other)) return false;
    if (!is_object($one) && !is_array($one)) return $one === $other;
    [$left, $right] = [(array) $one, (array) $other];
    if (count($left) !== count($right)) return false;
    foreach ($left as $name => $value) {
        if (!array_key_exists($name, $right) || !isSame($value, $right[$name])) return false;
    }
    return true;
}

/** strtotime also reads 30 February, as 2 March; 24:00; and other ways to write a time. */
function secondsOf(string $time): int|false {
    $clock = '(?:[01]\d|2[0-3]):[0-5]\d';
    $isTime = preg_match("/^(\d{4}-\d\d-\d\dT$clock:[0-5]\d)(\.\d{1,9})?(Z|[+-]$clock)\$/D", $time, $match);
    if (!$isTime || gmdate('Y-m-d\TH:i:s', strtotime("$match[1]Z")) !== $match[1]) return false;
    return strtotime($match[1] . $match[3]);
}

/** Everything outside the signature is a copy that anybody can change. */
function checkCopy(object $envelope, object $claims, string $kid): void {
    ensure(isSame($envelope->result, $claims->result), 'OUTER_RESULT_DIFFERS');
    ensure($envelope->issuer === $claims->iss, 'OUTER_ISSUER_DIFFERS');
    ensure($envelope->audience === $claims->aud, 'OUTER_AUDIENCE_DIFFERS');
    ensure($envelope->signatureKid === $kid, 'OUTER_KID_DIFFERS');
    ensure($envelope->verificationId === $claims->sub, 'OUTER_VERIFICATION_ID_DIFFERS');
    ensure(secondsOf($envelope->verifiedAt) === $claims->iat, 'OUTER_VERIFIED_AT_DIFFERS');
}

/** Whether mail has folded, quoted or framed a signature: that forges nothing, and proves nothing. */
function isFolded(string $text): bool {
    return preg_match('/[\s\x80-\xff<>"\'(),:;[\]{}]/', $text)
        && preg_match('/\.eyJ[\w-]*\.[\w-]{100}/', preg_replace('/[^\w.-]++/', '', $text));
}

/** The same of JSON: cut off, folded, quoted-printable, in HTML, or with curly quotation marks and hard spaces. */
function isDamaged(string $text): bool {
    $marks = '/eyJ[\w.-]*+\s|=3D|=\r?\n|&quot;|\xe2\x80|\xc2\xa0/';
    $isWhole = in_array(substr(rtrim($text), -1), ['}', ']'], true);
    return (!$isWhole || preg_match($marks, $text) || !preg_match('//u', $text)) && isFolded($text);
}

function readEnvelope(string $bytes): array {
    // A web page or an error answer is not a forgery: a text without any part of an envelope is undecided.
    $marks = '/eyJ[\w-]{8}|"(signature|signatureKid|result|verificationId)"\s*:|\\\\u00[4-7]/i';
    ensure(preg_match($marks, str_replace("\0", '', $bytes)), 'NOT_AN_ENVELOPE');
    if (!preg_match('/^\s*[[{"]/', $bytes)) {
        ensure(!isFolded(rtrim($bytes, "\r\n")), 'TEXT_DAMAGED');
        return [null, rtrim($bytes, "\r\n")];
    }
    $envelope = readObject($bytes, isDamaged($bytes) ? 'TEXT_DAMAGED' : 'JSON_MALFORMED');
    foreach (['verificationId', 'verifiedAt', 'issuer', 'audience', 'signature', 'signatureKid'] as $name) {
        ensure(is_string($envelope->$name ?? null), 'ENVELOPE_MALFORMED');
    }
    ensure(is_object($envelope->result ?? null), 'ENVELOPE_MALFORMED');
    ensure(!isFolded($envelope->signature), 'TEXT_DAMAGED');
    return [$envelope, $envelope->signature];
}

/** The signed claims, to decide by; throws Refused, whose message is the reason. */
function verifyEnvelope(
    string $bytes, string $jwks, string $keyHistory, string $issuer, string $audience, ?string $lists = null
): object {
    [$envelope, $jws] = readEnvelope($bytes);
    [$kid, $typ, $payload, $input, $signature] = openJws($jws);
    // Statements, key histories and status lists are signed with the same keys, and have types of their own.
    ensure($typ === null || $typ === 'JWT', 'HEADER_TYP');
    $keys = addHistory(readKeySet($jwks), $keyHistory, $issuer);
    ensure(isset($keys[$kid]), 'KID_UNKNOWN');
    verifySignature($input, $signature, $keys[$kid]->jwk, 'SIGNATURE_INVALID');
    $claims = readObject($payload, 'JWS_MALFORMED');
    ensure(is_int($claims->iat ?? null), 'CLAIM_TYPE');
    checkKeyAt($keys[$kid], timeOf($claims->iat));
    ensure(is_object($claims->result ?? null), 'CLAIM_MISSING');
    checkClaims($claims, $issuer, $audience);
    checkResult($claims->result);
    $place = placeOf($claims);
    if ($envelope !== null) checkCopy($envelope, $claims, $kid);
    if ($lists !== null && $place !== null) checkStatus($claims, readLists($lists), $keys, $issuer);
    return $claims;
}

function readBytes(string $name): string {
    $bytes = is_file($name) ? file_get_contents($name) : false;
    ensure(is_string($bytes), 'FILE_UNREADABLE');
    // Editors and shells save UTF-16, or put a mark before UTF-8.
    $encoding = match (true) {
        (bool) preg_match('/^(?:\xff\xfe|[^\0]\0[^\0]\0)/', $bytes) => 'UTF-16LE',
        (bool) preg_match('/^(?:\xfe\xff|\0[^\0]\0[^\0])/', $bytes) => 'UTF-16BE',
        default => null,
    };
    if ($encoding !== null) $bytes = @iconv($encoding, 'UTF-8', $bytes);
    ensure(is_string($bytes), 'TEXT_DAMAGED');
    return str_starts_with($bytes, "\xef\xbb\xbf") ? substr($bytes, 3) : $bytes;
}

[, $file, $jwksFile, $historyFile, $issuer, $audience] = $argv;
try {
    $lists = isset($argv[6]) ? readBytes($argv[6]) : null;
    verifyEnvelope(readBytes($file), readBytes($jwksFile), readBytes($historyFile), $issuer, $audience, $lists);
    echo "valid\n";
} catch (Refused $refused) {
    echo $refused->getMessage(), "\n";
    exit(in_array($refused->getMessage(), UNDECIDABLE, true) ? 2 : 1);
}
