/** The commands and programs of the getting-started page. */

import written from "../../data/examples/getting-started.sh" with { type: "text" };
import { defaultTeacher, stateTeachers } from "../domain/sandbox/teachers.ts";
import languages from "./examples.bundle.json" with { type: "json" };

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
  /** The command that runs `{file}`. */
  readonly run: string;
  /** Whether the receiver is a server. Otherwise it verifies a stored delivery. */
  readonly isServer: boolean;
};

/** Made of data/examples by .ci/bundles.ts. The first language is the default. */
export const codeLanguages = languages as unknown as readonly [CodeLanguage, ...CodeLanguage[]];

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
const watched = `watch/${encodeURIComponent(defaultTeacher.regNo)}`;
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

/** A part of getting-started.sh with the values of this page, about a file of the chosen language. */
function filled(part: string, { issuer, apiKey, partnerId, code }: Surroundings, file = ""): string {
  const api = `${issuer}/v1/inter-agency`;
  const run = code.run.replace("{file}", file);
  const values: Readonly<Record<string, unknown>> = {
    ...asked,
    ...{ issuer, apiKey, partnerId, api, language: code.id, file, run },
  };
  return (parts.get(part) ?? "").replace(/\{\{(\w+)\}\}/g, (_, name: string) => String(values[name]));
}

/** Fetches a file of the chosen language from the service and runs it (decision D14.2). */
function runExample(kind: ExampleKind, at: Surroundings): string {
  const { file } = at.code[kind];
  const fetched = filled("fetch", at, file);
  const started = filled(kind, at, file);
  if (kind !== "receive") return `${fetched}\n${started}`;
  const secret = `${fetched}\n${filled("secret", at)}`;
  return at.code.isServer ? `${secret}\n${started}` : secret;
}

export type Step =
  | ExampleKind
  | `verify-${"tvs" | "library"}`
  | ("key" | "prepare" | "retry" | "other-calls" | "watch" | "delivery" | "sandbox-delivery");

/** The commands of a step. Readers paste all steps into one shell. */
export function commandOf(step: Step, at: Surroundings): string {
  const { prepare, isServer, receive } = at.code;
  if (step === "prepare") return prepare ?? "";
  // A delivery as the service would send it, signed by the reader.
  if (step === "delivery")
    return `${filled("sign", at)}\n${filled(isServer ? "send" : "check", at, receive.file)}`;
  // A delivery of the sandbox itself, with the secret of the demo partner's endpoint.
  if (step === "sandbox-delivery")
    return [
      filled("sandbox-endpoint", at),
      filled("receive", at, receive.file),
      filled("sandbox-event", at),
    ].join("\n");
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
