<?php
// Fetches the events that are new, a line for each. PHP 8.1 or later, with its openssl extension for https (tested with
// PHP 8.2).
//   API_KEY='tvs_test_...' php events.php ISSUER
// Run it every minute. The file events.iterator says how far it has come; what fails comes the next time, so a line can
// come twice, and none is left out.
$place = 'events.iterator';
$context = stream_context_create(['http' => [
    'header' => 'Authorization: Bearer ' . getenv('API_KEY'),
    'ignore_errors' => true,
    'timeout' => 15,
    'follow_location' => 0, // the key is for this address, and not for wherever a redirect leads
]]);
do {
    $query = is_file($place) ? '?after=' . rawurlencode(file_get_contents($place)) : '';
    $http_response_header = [];
    $body = @file_get_contents("$argv[1]/v1/inter-agency/events$query", false, $context);
    if (substr($http_response_header[0] ?? '', 9, 3) !== '200') {
        fwrite(STDERR, implode(preg_grep('/^X-Error-Code:/i', $http_response_header)) . ' ' . ($body ?: 'no answer') . "\n");
        exit(1);
    }
    $page = json_decode($body);
    foreach ($page->data as $event) {
        echo "$event->eventId $event->eventType {$event->data->regNo}\n";
    }
    if ($page->iterator !== null) {
        if (file_put_contents("$place.new", $page->iterator) === false) exit(1);
        rename("$place.new", $place);
    }
} while (!$page->done);
