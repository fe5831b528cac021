/** The commands and programs of the getting-started page. */

import written from "../../data/examples/getting-started.sh" with { type: "text" };
import { defaultTeacher, statusExampleTeachers } from "../domain/sandbox/teachers.ts";
import languages from "./examples.bundle.json" with { type: "json" };

type Example = { readonly file: string; readonly source: string };

export const exampleKinds = ["ask", "verify", "receive", "events"] as const;
export type ExampleKind = (typeof exampleKinds)[number];

type CodeLanguage = Readonly<Record<ExampleKind, Example>> & {
  /** The name of the folder in data/examples, and the value of `?code=`. */
  readonly id: string;
  readonly name: string;
  /** Commands that install the examples' dependencies; null if the examples have none. */
  readonly prepare: string | null;
  /** The command that runs an example; `{file}` is the placeholder of the example's file. */
  readonly run: string;
  /** True if the example `receive` is an HTTP server; false if the example verifies a delivery that is stored in a file. */
  readonly isServer: boolean;
};

/** The examples of data/examples, which .ci/bundles.ts bundles. The first language is the default. */
export const codeLanguages = languages as unknown as readonly [CodeLanguage, ...CodeLanguage[]];

export type StepValues = {
  /** The service's public URL, without a slash at its end. */
  readonly issuer: string;
  readonly sandbox: boolean;
  /** True if this reader may see the demo key. */
  readonly offered: boolean;
  /** The demo partner's API key, or a placeholder. */
  readonly apiKey: string;
  readonly partnerId: string;
  readonly code: CodeLanguage;
  /** `?lang=TAG` if the page's URL has this query, else empty. The page's links repeat the query. */
  readonly query: string;
  /** True if the footer has a contact of the operator. */
  readonly hasContact: boolean;
};

const [valid, expired] = statusExampleTeachers;
const regNo = valid?.regNo ?? "";
const exampleValues = {
  regNo,
  regNoInPath: encodeURIComponent(regNo),
  tId: valid?.tId,
  nin: valid?.nin,
  expiredTId: expired?.tId,
  watched: `watch/${encodeURIComponent(defaultTeacher.regNo)}`,
};

/** The parts of getting-started.sh by name. A part begins with a line `#: NAME`. */
const scriptParts = new Map(
  written.split(/^#: /m).map((part) => {
    const end = part.indexOf("\n");
    return [part.slice(0, end), part.slice(end + 1).trimEnd()];
  }),
);

export type GuideStep =
  | ExampleKind
  | `verify-${"tvs" | "library"}`
  | ("key" | "prepare" | "retry" | "other-calls" | "watch" | "delivery" | "sandbox-delivery");

/** The parts of getting-started.sh that make up a step (decision D14.2). A step without an entry has the part of its own name. */
const scriptPartsOf = ({ isServer }: CodeLanguage): Partial<Record<GuideStep, readonly string[]>> => ({
  ask: ["fetch", "ask"],
  verify: ["fetch", "verify"],
  events: ["fetch", "events"],
  receive: ["fetch", "secret", ...(isServer ? ["receive"] : [])],
  // The commands sign a delivery as the service does, and pass it to the reader's receiver.
  delivery: ["sign", isServer ? "send" : "check"],
  // The sandbox sends the delivery, signed with the secret of the demo partner's endpoint.
  "sandbox-delivery": ["sandbox-endpoint", "receive", "sandbox-event"],
});

/** Makes a step's commands, which can use variables of earlier steps, because readers paste all steps into one shell. */
export function formatStepCommands(step: GuideStep, { issuer, apiKey, partnerId, code }: StepValues): string {
  if (step === "prepare") return code.prepare ?? "";
  const { file } = code[exampleKinds.find((kind) => kind === step) ?? "receive"];
  const values: Readonly<Record<string, unknown>> = {
    ...exampleValues,
    ...{ issuer, apiKey, partnerId, file, language: code.id },
    api: `${issuer}/v1/inter-agency`,
    run: code.run.replace("{file}", file),
  };
  const commands = (scriptPartsOf(code)[step] ?? [step]).map((part) => scriptParts.get(part) ?? "");
  return commands.join("\n").replace(/\{\{(\w+)\}\}/g, (_, name: string) => String(values[name]));
}

/** The calls of the page's buttons, in order. Paths are relative to the page's URL. */
export const buttonCalls = [
  ["me", "GET", "me"],
  ["watch", "PUT", exampleValues.watched],
  ["cause", "POST", "getting-started/events"],
  ["events", "GET", "events"],
] as const;
