<?php // 8.1 or later, with its openssl extension for https.
$request = stream_context_create(['http' => [
    'method' => 'METHOD',
    'header' => [
        'NAME: VALUE',
    ],
    'content' => 'BODY',
    'ignore_errors' => true,
    'timeout' => 30,
]]);
echo file_get_contents('ADDRESS', false, $request);
