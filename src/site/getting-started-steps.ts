/** The commands, programs and tables that the getting-started page shows. */

import written from "../../data/examples/getting-started.sh" with { type: "text" };
import { type SandboxTeacher, stateTeachers, trapTeachers, triggered } from "../domain/sandbox/teachers.ts";
import { type CodeLanguage, type ExampleKind, isExample } from "./getting-started-languages.ts";

/** What the commands are written for. */
export type Surroundings = {
  /** The service's public address, without a slash at its end. */
  readonly issuer: string;
  readonly sandbox: boolean;
  /** Whether this reader is shown the sandbox's key, */
  readonly offered: boolean;
  /** and whether it opens nothing any more. */
  readonly ended: boolean;
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
  const { run, serve, isServer } = at.code;
  const { file } = at.code[kind];
  const fetched = filled("fetch", at, { file });
  if (kind !== "receive") return `${fetched}\n${filled(kind, at, { run: run(file) })}`;
  const secret = `${fetched}\n${filled("secret", at)}`;
  return isServer ? `${secret}\n${filled(kind, at, { run: serve(file) })}` : secret;
}

/** A delivery as the service would send it, signed by who tries the receiver, to a server or to one that only judges. */
function tryDelivery(at: Surroundings): string {
  const { isServer, run, receive } = at.code;
  return `${filled("sign", at)}\n${filled(isServer ? "send" : "check", at, { run: run(receive.file) })}`;
}

export type Step =
  | ExampleKind
  | `verify-${"tvs" | "library"}`
  | ("key" | "prepare" | "retry" | "other-calls" | "watch" | "delivery" | "sandbox-events");

/** The commands of a step, to be pasted into one shell. */
export function commandOf(step: Step, at: Surroundings): string {
  if (step === "prepare") return at.code.prepare ?? "";
  if (step === "delivery") return tryDelivery(at);
  return isExample(step) ? runExample(step, at) : filled(step, at);
}

export type TeacherToTry = Readonly<Record<"regNo" | "tId" | "nin" | "shows", string | number>>;

const toTry = ({ regNo: number, tId, nin, shows }: SandboxTeacher): TeacherToTry => ({
  regNo: number,
  shows,
  tId: tId ?? "–",
  nin: nin ?? "–",
});

/** Made-up teachers to try each answer with, and those that programs stumble over. */
export const teachers = { states: stateTeachers.map(toTry), traps: trapTeachers.map(toTry) };

/** What the page's own buttons ask for, in the order in which they are pressed; paths begin where the page stands. */
export const trySteps = {
  me: { method: "GET", path: "me" },
  watch: { method: "PUT", path: watched },
  cause: { method: "POST", path: "getting-started/events" },
  events: { method: "GET", path: "events" },
} satisfies Readonly<Record<string, { method: string; path: string }>>;

export type TryStep = keyof typeof trySteps;
