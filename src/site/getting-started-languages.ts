/** The languages of getting started, and how an example of each is run (decision D14.2). */

import askSh from "../../data/examples/curl/ask.sh" with { type: "text" };
import eventsSh from "../../data/examples/curl/events.sh" with { type: "text" };
import receiveSh from "../../data/examples/curl/receive.sh" with { type: "text" };
import verifySh from "../../data/examples/curl/verify.sh" with { type: "text" };
import askJava from "../../data/examples/java/Ask.java" with { type: "text" };
import eventsJava from "../../data/examples/java/Events.java" with { type: "text" };
import receiveJava from "../../data/examples/java/Receive.java" with { type: "text" };
import verifyJava from "../../data/examples/java/Verify.java" with { type: "text" };
import askMjs from "../../data/examples/javascript/ask.mjs" with { type: "text" };
import eventsMjs from "../../data/examples/javascript/events.mjs" with { type: "text" };
import receiveMjs from "../../data/examples/javascript/receive.mjs" with { type: "text" };
import verifyMjs from "../../data/examples/javascript/verify.mjs" with { type: "text" };
import written from "../../data/examples/languages.json" with { type: "json" };
import askPhp from "../../data/examples/php/ask.php" with { type: "text" };
import eventsPhp from "../../data/examples/php/events.php" with { type: "text" };
import receivePhp from "../../data/examples/php/receive.php" with { type: "text" };
import verifyPhp from "../../data/examples/php/verify.php" with { type: "text" };
import askPy from "../../data/examples/python/ask.py" with { type: "text" };
import eventsPy from "../../data/examples/python/events.py" with { type: "text" };
import receivePy from "../../data/examples/python/receive.py" with { type: "text" };
import verifyPy from "../../data/examples/python/verify.py" with { type: "text" };

/** A file of `data/examples/`, as it is shown and handed out. */
type Example = { readonly file: string; readonly source: string };

const exampleKinds = ["ask", "verify", "receive", "events"] as const;
export type ExampleKind = (typeof exampleKinds)[number];

export function isExample(name: string): name is ExampleKind {
  return exampleKinds.some((kind) => kind === name);
}

export type CodeLanguage = Readonly<Record<ExampleKind, Example>> & {
  /** As the folder is named, and `?code=`. */
  readonly id: string;
  readonly name: string;
  /** Commands that fetch what the examples need besides the language; null where they need nothing. */
  readonly prepare: string | null;
  /** How a file is run. */
  readonly run: (file: string) => string;
  /** Whether its receiver is a server; else it only judges a delivery that was kept. */
  readonly isServer: boolean;
};

const sources: Readonly<Record<string, Readonly<Record<ExampleKind, string>>>> = {
  curl: { ask: askSh, events: eventsSh, receive: receiveSh, verify: verifySh },
  javascript: { ask: askMjs, events: eventsMjs, receive: receiveMjs, verify: verifyMjs },
  python: { ask: askPy, events: eventsPy, receive: receivePy, verify: verifyPy },
  php: { ask: askPhp, events: eventsPhp, receive: receivePhp, verify: verifyPhp },
  java: { ask: askJava, events: eventsJava, receive: receiveJava, verify: verifyJava },
};

/** The first is shown to who has not chosen. */
export const codeLanguages = written.map(
  ({ id, name, ending, capitalised, prepare, run, isServer }): CodeLanguage => {
    const files = Object.entries(sources[id] ?? {}).map(([kind, source]) => {
      // Where a class must be named as its file is, both begin with a capital.
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

/** A file that the service hands out; null for a path that is none. */
export function exampleAt(language: string, file: string): Example | null {
  const found = codeLanguages.find(({ id }) => id === language);
  const kind = exampleKinds.find((one) => found?.[one].file === file);
  return found === undefined || kind === undefined ? null : found[kind];
}
