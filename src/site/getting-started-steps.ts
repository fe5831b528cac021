/** The commands and programs of the getting-started page. */

import askSh from "../../data/examples/curl/ask.sh" with { type: "text" };
import eventsSh from "../../data/examples/curl/events.sh" with { type: "text" };
import receiveSh from "../../data/examples/curl/receive.sh" with { type: "text" };
import verifySh from "../../data/examples/curl/verify.sh" with { type: "text" };
import written from "../../data/examples/getting-started.sh" with { type: "text" };
import askJava from "../../data/examples/java/Ask.java" with { type: "text" };
import eventsJava from "../../data/examples/java/Events.java" with { type: "text" };
import receiveJava from "../../data/examples/java/Receive.java" with { type: "text" };
import verifyJava from "../../data/examples/java/Verify.java" with { type: "text" };
import askMjs from "../../data/examples/javascript/ask.mjs" with { type: "text" };
import eventsMjs from "../../data/examples/javascript/events.mjs" with { type: "text" };
import receiveMjs from "../../data/examples/javascript/receive.mjs" with { type: "text" };
import verifyMjs from "../../data/examples/javascript/verify.mjs" with { type: "text" };
import languageList from "../../data/examples/languages.json" with { type: "json" };
import askPhp from "../../data/examples/php/ask.php" with { type: "text" };
import eventsPhp from "../../data/examples/php/events.php" with { type: "text" };
import receivePhp from "../../data/examples/php/receive.php" with { type: "text" };
import verifyPhp from "../../data/examples/php/verify.php" with { type: "text" };
import askPy from "../../data/examples/python/ask.py" with { type: "text" };
import eventsPy from "../../data/examples/python/events.py" with { type: "text" };
import receivePy from "../../data/examples/python/receive.py" with { type: "text" };
import verifyPy from "../../data/examples/python/verify.py" with { type: "text" };
import { stateTeachers, triggered } from "../domain/sandbox/teachers.ts";

type Example = { readonly file: string; readonly source: string };

export const exampleKinds = ["ask", "verify", "receive", "events"] as const;
export type ExampleKind = (typeof exampleKinds)[number];

function isExample(name: string): name is ExampleKind {
  return exampleKinds.some((kind) => kind === name);
}

type CodeLanguage = Readonly<Record<ExampleKind, Example>> & {
  /** The folder's name, also in `?code=`. */
  readonly id: string;
  readonly name: string;
  /** Commands that fetch the examples' dependencies; null if there are none. */
  readonly prepare: string | null;
  readonly run: (file: string) => string;
  /** Whether the receiver is a server. Otherwise it verifies a stored delivery. */
  readonly isServer: boolean;
};

const sources: Readonly<Record<string, Readonly<Record<ExampleKind, string>>>> = {
  curl: { ask: askSh, events: eventsSh, receive: receiveSh, verify: verifySh },
  javascript: { ask: askMjs, events: eventsMjs, receive: receiveMjs, verify: verifyMjs },
  python: { ask: askPy, events: eventsPy, receive: receivePy, verify: verifyPy },
  php: { ask: askPhp, events: eventsPhp, receive: receivePhp, verify: verifyPhp },
  java: { ask: askJava, events: eventsJava, receive: receiveJava, verify: verifyJava },
};

/** The first language is the default. */
export const codeLanguages = languageList.map(
  ({ id, name, ending, capitalised, prepare, run, isServer }): CodeLanguage => {
    const files = Object.entries(sources[id] ?? {}).map(([kind, source]) => {
      // A Java file has the name of its class, with a capital.
      const stem = capitalised ? `${kind.charAt(0).toUpperCase()}${kind.slice(1)}` : kind;
      return [kind, { file: `${stem}.${ending}`, source }];
    });
    return {
      ...(Object.fromEntries(files) as Record<ExampleKind, Example>),
      id,
      name,
      prepare,
      run: (file) => run.replace("{file}", file),
      isServer,
    };
  },
) as [CodeLanguage, ...CodeLanguage[]];

export type Surroundings = {
  /** The service's public address, without a slash at its end. */
  readonly issuer: string;
  readonly sandbox: boolean;
  /** Whether this reader sees the sandbox's key. */
  readonly offered: boolean;
  /** The demo partner's key, or a placeholder. */
  readonly apiKey: string;
  readonly partnerId: string;
  readonly code: CodeLanguage;
  /** The query by which links keep the page's language. */
  readonly query: string;
  /** Whether the footer says how to reach the operator. */
  readonly hasContact: boolean;
};

const [valid, expired] = stateTeachers;
const watched = `watch/${encodeURIComponent(triggered.regNo)}`;
const regNo = valid?.regNo ?? "";
/** The sandbox's teachers of the commands. */
const asked = {
  regNo,
  regNoInPath: encodeURIComponent(regNo),
  tId: valid?.tId,
  nin: valid?.nin,
  expiredTId: expired?.tId,
  watched,
};

/** The parts of getting-started.sh by their names. */
const parts = new Map(
  written.split(/^#: /m).map((part) => {
    const end = part.indexOf("\n");
    return [part.slice(0, end), part.slice(end + 1).trimEnd()];
  }),
);

/** A part of getting-started.sh with the values of this page. */
function filled(part: string, { issuer, apiKey, partnerId, code }: Surroundings, more: object = {}): string {
  const api = `${issuer}/v1/inter-agency`;
  const values: Readonly<Record<string, unknown>> = {
    ...asked,
    ...{ issuer, apiKey, partnerId, api, language: code.id, ...more },
  };
  return (parts.get(part) ?? "").replace(/\{\{(\w+)\}\}/g, (_, name: string) => String(values[name]));
}

/** Fetches a file of the chosen language from the service and runs it (decision D14.2). */
function runExample(kind: ExampleKind, at: Surroundings): string {
  const { run, isServer } = at.code;
  const { file } = at.code[kind];
  const fetched = filled("fetch", at, { file });
  const started = filled(kind, at, { run: run(file) });
  if (kind !== "receive") return `${fetched}\n${started}`;
  const secret = `${fetched}\n${filled("secret", at)}`;
  return isServer ? `${secret}\n${started}` : secret;
}

export type Step =
  | ExampleKind
  | `verify-${"tvs" | "library"}`
  | ("key" | "prepare" | "retry" | "other-calls" | "watch" | "delivery" | "sandbox-delivery");

/** The commands of a step. Readers paste all steps into one shell. */
export function commandOf(step: Step, at: Surroundings): string {
  const { prepare, isServer, run, receive } = at.code;
  const more = { run: run(receive.file) };
  if (step === "prepare") return prepare ?? "";
  // A delivery as the service would send it, signed by the reader.
  if (step === "delivery") return `${filled("sign", at)}\n${filled(isServer ? "send" : "check", at, more)}`;
  // A delivery of the sandbox itself, with the secret of the demo partner's endpoint.
  if (step === "sandbox-delivery")
    return [filled("sandbox-endpoint", at), filled("receive", at, more), filled("sandbox-event", at)].join(
      "\n",
    );
  return isExample(step) ? runExample(step, at) : filled(step, at);
}

/** The calls of the page's buttons, in order; paths are relative to the page. */
export const trySteps = {
  me: { method: "GET", path: "me" },
  watch: { method: "PUT", path: watched },
  cause: { method: "POST", path: "getting-started/events" },
  events: { method: "GET", path: "events" },
} satisfies Readonly<Record<string, { method: string; path: string }>>;

export type TryStep = keyof typeof trySteps;
