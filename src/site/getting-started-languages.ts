/** The languages of getting started and of the API reference, and how an example of each is run (decision D14.2). */

import askCs from "../../data/examples/csharp/Ask.cs" with { type: "text" };
import callCs from "../../data/examples/csharp/Call.cs" with { type: "text" };
import eventsCs from "../../data/examples/csharp/Events.cs" with { type: "text" };
import receiveCs from "../../data/examples/csharp/Receive.cs" with { type: "text" };
import verifyCs from "../../data/examples/csharp/Verify.cs" with { type: "text" };
import askSh from "../../data/examples/curl/ask.sh" with { type: "text" };
import callSh from "../../data/examples/curl/call.sh" with { type: "text" };
import eventsSh from "../../data/examples/curl/events.sh" with { type: "text" };
import receiveSh from "../../data/examples/curl/receive.sh" with { type: "text" };
import verifySh from "../../data/examples/curl/verify.sh" with { type: "text" };
import askGo from "../../data/examples/go/ask.go" with { type: "text" };
import callGo from "../../data/examples/go/call.go" with { type: "text" };
import eventsGo from "../../data/examples/go/events.go" with { type: "text" };
import receiveGo from "../../data/examples/go/receive.go" with { type: "text" };
import verifyGo from "../../data/examples/go/verify.go" with { type: "text" };
import askJava from "../../data/examples/java/Ask.java" with { type: "text" };
import callJava from "../../data/examples/java/Call.java" with { type: "text" };
import eventsJava from "../../data/examples/java/Events.java" with { type: "text" };
import receiveJava from "../../data/examples/java/Receive.java" with { type: "text" };
import verifyJava from "../../data/examples/java/Verify.java" with { type: "text" };
import askMjs from "../../data/examples/javascript/ask.mjs" with { type: "text" };
import callMjs from "../../data/examples/javascript/call.mjs" with { type: "text" };
import eventsMjs from "../../data/examples/javascript/events.mjs" with { type: "text" };
import receiveMjs from "../../data/examples/javascript/receive.mjs" with { type: "text" };
import verifyMjs from "../../data/examples/javascript/verify.mjs" with { type: "text" };
import askPhp from "../../data/examples/php/ask.php" with { type: "text" };
import callPhp from "../../data/examples/php/call.php" with { type: "text" };
import eventsPhp from "../../data/examples/php/events.php" with { type: "text" };
import receivePhp from "../../data/examples/php/receive.php" with { type: "text" };
import verifyPhp from "../../data/examples/php/verify.php" with { type: "text" };
import askPy from "../../data/examples/python/ask.py" with { type: "text" };
import callPy from "../../data/examples/python/call.py" with { type: "text" };
import eventsPy from "../../data/examples/python/events.py" with { type: "text" };
import receivePy from "../../data/examples/python/receive.py" with { type: "text" };
import verifyPy from "../../data/examples/python/verify.py" with { type: "text" };

/** A file of `data/examples/`, as it is shown and handed out. */
type Example = { readonly file: string; readonly source: string };

const exampleKinds = ["ask", "verify", "receive", "events"] as const;
export type ExampleKind = (typeof exampleKinds)[number];

export type CodeLanguage = Readonly<Record<ExampleKind, Example>> & {
  /** One call, written for the reference to fill in: see reference/operations.ts. */
  readonly call: Example;
  /** A text as the body of `call` has it: what ends the literal there is escaped. */
  readonly escape?: (text: string) => string;
  /** As the folder is named, and `?code=`. */
  readonly id: string;
  readonly name: string;
  /** Commands that fetch what the examples need besides the language; null where they need nothing. */
  readonly prepare: string | null;
  /** How a file is run. */
  readonly run: (file: string) => string;
  /** How its receiver is run, where `run` would leave a process behind that outlives the one to end. */
  readonly serve?: (file: string) => string;
  /** Whether its receiver is a server; else it only judges a delivery that was kept. */
  readonly isServer: boolean;
};

/** Where a class must be named as its file is, both begin with a capital. */
const capitalised = ["java", "cs"];

function files(ending: string, sources: Readonly<Record<ExampleKind | "call", string>>) {
  const fileOf = (kind: keyof typeof sources): Example => {
    const name = capitalised.includes(ending) ? `${kind.charAt(0).toUpperCase()}${kind.slice(1)}` : kind;
    return { file: `${name}.${ending}`, source: sources[kind] };
  };
  return {
    ask: fileOf("ask"),
    verify: fileOf("verify"),
    receive: fileOf("receive"),
    events: fileOf("events"),
    call: fileOf("call"),
  };
}

/** The first is shown to who has not chosen. */
export const codeLanguages: readonly [CodeLanguage, ...CodeLanguage[]] = [
  {
    id: "curl",
    name: "curl",
    prepare: null,
    run: (file) => `sh ${file}`,
    isServer: false,
    escape: (text) => text.replaceAll("'", "'\\''"),
    ...files("sh", { ask: askSh, call: callSh, events: eventsSh, receive: receiveSh, verify: verifySh }),
  },
  {
    id: "javascript",
    name: "JavaScript",
    prepare: "npm install jose",
    run: (file) => `node ${file}`,
    isServer: true,
    escape: (text) => text.replace(/[`\\$]/g, "\\$&"),
    ...files("mjs", {
      ask: askMjs,
      call: callMjs,
      events: eventsMjs,
      receive: receiveMjs,
      verify: verifyMjs,
    }),
  },
  {
    id: "python",
    name: "Python",
    prepare: `python3 -m venv .venv
. .venv/bin/activate
python3 -m pip install --quiet "pyjwt[crypto]"`,
    run: (file) => `python3 ${file}`,
    isServer: true,
    ...files("py", { ask: askPy, call: callPy, events: eventsPy, receive: receivePy, verify: verifyPy }),
  },
  {
    id: "php",
    name: "PHP",
    prepare: null,
    run: (file) => `php ${file}`,
    isServer: true,
    escape: (text) => text.replace(/['\\]/g, "\\$&"),
    ...files("php", {
      ask: askPhp,
      call: callPhp,
      events: eventsPhp,
      receive: receivePhp,
      verify: verifyPhp,
    }),
  },
  {
    id: "java",
    name: "Java",
    prepare: "sudo apt install default-jdk-headless libjackson2-databind-java",
    run: (file) => `java -cp "/usr/share/java/*" ${file}`,
    isServer: true,
    escape: (text) => text.replaceAll("\\", "\\\\"),
    ...files("java", {
      ask: askJava,
      call: callJava,
      events: eventsJava,
      receive: receiveJava,
      verify: verifyJava,
    }),
  },
  {
    id: "go",
    name: "Go",
    prepare: null,
    run: (file) => `go run ${file}`,
    serve: (file) => `go build ${file}
./${file.replace(/\.go$/, "")}`,
    isServer: true,
    ...files("go", { ask: askGo, call: callGo, events: eventsGo, receive: receiveGo, verify: verifyGo }),
  },
  {
    id: "csharp",
    name: "C#",
    prepare:
      "sudo apt install mono-mcs mono-runtime libnewtonsoft-json5.0-cil libmono-system-net-http4.0-cil",
    run: (file) => `mcs -r:/usr/lib/cli/Newtonsoft.Json-5.0/Newtonsoft.Json.dll -r:System.Net.Http.dll ${file}
mono ${file.replace(/cs$/, "exe")}`,
    isServer: true,
    escape: (text) => text.replaceAll('"', '""'),
    ...files("cs", { ask: askCs, call: callCs, events: eventsCs, receive: receiveCs, verify: verifyCs }),
  },
];

/** A file that the service hands out; null for a path that is none. */
export function exampleAt(language: string, file: string): Example | null {
  const found = codeLanguages.find(({ id }) => id === language);
  const kind = exampleKinds.find((one) => found?.[one].file === file);
  return found === undefined || kind === undefined ? null : found[kind];
}
