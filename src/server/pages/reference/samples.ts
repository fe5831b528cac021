/** One request in the languages that partners' engineers read, with nothing to install. */

import { shellWord } from "../../../domain/shell-word.ts";

export type Request = {
  readonly method: string;
  /** The whole address, filled in. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Whether the answer is JSON; else it is shown as text. */
  readonly answersJson: boolean;
};

/** How a language writes data. */
type Syntax = {
  readonly object: readonly [open: string, pair: string, close: string];
  readonly words: Readonly<Record<string, string>>;
  readonly step: string;
  quote(text: string): string;
};

const javascript: Syntax = { object: ["{", ": ", "}"], words: {}, step: "  ", quote: JSON.stringify };
const python: Syntax = {
  object: ["{", ": ", "}"],
  words: { null: "None", true: "True", false: "False" },
  step: "    ",
  quote: JSON.stringify,
};
const php: Syntax = {
  object: ["[", " => ", "]"],
  words: {},
  step: "    ",
  quote: (text) => `'${text.replace(/['\\]/g, "\\$&")}'`,
};

function literal(value: unknown, syntax: Syntax, indent = ""): string {
  const inner = indent + syntax.step;
  const block = (open: string, parts: readonly string[], close: string) =>
    `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent}${close}`;
  if (typeof value === "string") return syntax.quote(value);
  if (Array.isArray(value)) {
    const parts = value.map((item) => literal(item, syntax, inner));
    return block("[", parts, "]");
  }
  if (typeof value !== "object" || value === null) return syntax.words[String(value)] ?? String(value);
  const [open, pair, close] = syntax.object;
  const parts = Object.entries(value).map(
    ([name, member]) => `${syntax.quote(name)}${pair}${literal(member, syntax, inner)}`,
  );
  return block(open, parts, close);
}

function inCurl({ method, url, headers, body }: Request): string {
  const lines = [
    `curl${method === "GET" || body !== undefined ? "" : ` -X ${method}`} ${shellWord(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${shellWord(JSON.stringify(body, null, 2))}`]),
  ];
  return lines.join(" \\\n  ");
}

function inJavaScript({ method, url, headers, body, answersJson }: Request): string {
  const members = [
    ...(method === "GET" ? [] : [`  method: "${method}",\n`]),
    ...(Object.keys(headers).length === 0 ? [] : [`  headers: ${literal(headers, javascript, "  ")},\n`]),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${literal(body, javascript, "  ")}),\n`]),
  ];
  const options = members.length === 0 ? "" : `, {\n${members.join("")}}`;
  return `const response = await fetch(${JSON.stringify(url)}${options});
console.log(response.status, await response.${answersJson ? "json" : "text"}());`;
}

function inPython({ url, headers, body, answersJson }: Request): string {
  const members = [
    `    ${JSON.stringify(url)},\n`,
    ...(Object.keys(headers).length === 0 ? [] : [`    headers=${literal(headers, python, "    ")},\n`]),
    ...(body === undefined ? [] : [`    data=json.dumps(${literal(body, python, "    ")}).encode(),\n`]),
  ];
  const read = answersJson ? "json.load(response)" : "response.read().decode()";
  return `${answersJson || body !== undefined ? "import json\n" : ""}import urllib.request

request = urllib.request.Request(
${members.join("")})
with urllib.request.urlopen(request, timeout=30) as response:
    print(response.status, ${read})`;
}

function inPhp({ method, url, headers, body, answersJson }: Request): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const members = [
    ...(method === "GET" ? [] : [`    'method' => '${method}',\n`]),
    ...(lines.length === 0 ? [] : [`    'header' => ${literal(lines, php, "    ")},\n`]),
    ...(body === undefined ? [] : [`    'content' => json_encode(${literal(body, php, "    ")}),\n`]),
    "    'ignore_errors' => true,\n    'timeout' => 30,\n",
  ];
  return `<?php
$context = stream_context_create(['http' => [
${members.join("")}]]);
$answer = file_get_contents(${php.quote(url)}, false, $context);
${answersJson ? "print_r(json_decode($answer, true));" : "echo $answer;"}`;
}

type Sample = {
  readonly id: string;
  readonly language: string;
  readonly write: (request: Request) => string;
};

/** The languages, by what their tab says. */
export const sampleLanguages = [
  { id: "curl", language: "curl", write: inCurl },
  { id: "js", language: "JavaScript", write: inJavaScript },
  { id: "python", language: "Python", write: inPython },
  { id: "php", language: "PHP", write: inPhp },
] as const satisfies readonly Sample[];
