/** The commands, programs and tables that the getting-started page shows. */

import written from "../../data/examples/getting-started.sh" with { type: "text" };
import { stateTeachers, triggered } from "../domain/sandbox/teachers.ts";
import { type CodeLanguage, type ExampleKind, isExample } from "./getting-started-languages.ts";

/** What the commands are written for. */
export type Surroundings = {
  /** The service's public address, without a slash at its end. */
  readonly issuer: string;
  readonly sandbox: boolean;
  /** Whether this reader is shown the sandbox's key. */
  readonly offered: boolean;
  /** What stands in for the reader's own key and id, where the real ones cannot be shown. */
  readonly apiKey: string;
  readonly partnerId: string;
  /** The language of the examples. */
  readonly code: CodeLanguage;
  /** What links carry, so that the next page speaks this language. */
  readonly query: string;
  /** Whether the page's foot says how to reach the operator. */
  readonly hasContact: boolean;
};

const [valid, expired] = stateTeachers;
const watched = `watch/${encodeURIComponent(triggered.regNo)}`;
const regNo = valid?.regNo ?? "";
/** Of the first teachers of a sandbox, whom the commands ask about. */
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

/** A part, with its places filled in. */
function filled(name: string, { issuer, apiKey, partnerId, code }: Surroundings, more: object = {}): string {
  const api = `${issuer}/v1/inter-agency`;
  const values: Readonly<Record<string, unknown>> = {
    ...asked,
    ...{ issuer, apiKey, partnerId, api, language: code.id, ...more },
  };
  return (parts.get(name) ?? "").replace(/\{\{(\w+)\}\}/g, (_, place: string) => String(values[place]));
}

/** Fetches a file of the chosen language from the service and runs it, as decision D14.2 has it for all of them. */
function runExample(kind: ExampleKind, at: Surroundings): string {
  const { run, isServer } = at.code;
  const { file } = at.code[kind];
  const fetched = filled("fetch", at, { file });
  const started = filled(kind, at, { run: run(file) });
  if (kind !== "receive") return `${fetched}\n${started}`;
  const secret = `${fetched}\n${filled("secret", at)}`;
  return isServer ? `${secret}\n${started}` : secret;
}

/** A delivery as the service would send it, signed by who tries the receiver, to a server or to one that only judges. */
function tryDelivery(at: Surroundings): string {
  const { isServer, run, receive } = at.code;
  return `${filled("sign", at)}\n${filled(isServer ? "send" : "check", at, { run: run(receive.file) })}`;
}

/** The sandbox sends a delivery of its own to the receiver, which has the secret of the demo partner's endpoint. */
function sandboxDelivery(at: Surroundings): string {
  const { run, receive } = at.code;
  const started = filled("receive", at, { run: run(receive.file) });
  return [filled("sandbox-endpoint", at), started, filled("sandbox-event", at)].join("\n");
}

export type Step =
  | ExampleKind
  | `verify-${"tvs" | "library"}`
  | ("key" | "prepare" | "retry" | "other-calls" | "watch" | "delivery" | "sandbox-delivery");

/** The commands of a step, to be pasted into one shell. */
export function commandOf(step: Step, at: Surroundings): string {
  if (step === "prepare") return at.code.prepare ?? "";
  if (step === "delivery") return tryDelivery(at);
  if (step === "sandbox-delivery") return sandboxDelivery(at);
  return isExample(step) ? runExample(step, at) : filled(step, at);
}

/** What the page's own buttons ask for, in the order in which they are pressed; paths begin where the page stands. */
export const trySteps = {
  me: { method: "GET", path: "me" },
  watch: { method: "PUT", path: watched },
  cause: { method: "POST", path: "getting-started/events" },
  events: { method: "GET", path: "events" },
} satisfies Readonly<Record<string, { method: string; path: string }>>;

export type TryStep = keyof typeof trySteps;
