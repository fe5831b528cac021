import { expect, test } from "bun:test";
import { builtinModules } from "node:module";
import { dirname, relative, resolve } from "node:path";
import { filesBelow, read, root } from "./harness/repository.ts";

type SourceFile = {
  readonly path: string;
  readonly text: string;
  /** The text without its comments. */
  readonly code: string;
  readonly imports: readonly string[];
};

function filesOf(folder: string): SourceFile[] {
  return filesBelow(folder, /\.ts$/).map((path) => {
    const text = read(path);
    return { path, text, code: withoutComments(text), imports: importsOf(text) };
  });
}

/** Lists what a file imports: statically, by re-export and dynamically, types included. */
function importsOf(text: string): string[] {
  const code = withoutComments(text);
  const patterns = [
    /\b(?:import|export)\b[^"';]*?\bfrom\s*"([^"]+)"/g,
    /\bimport\s*"([^"]+)"/g,
    /\bimport\(\s*"([^"]+)"/g,
  ];
  return patterns.flatMap((pattern) => [...code.matchAll(pattern)].map((match) => match[1] ?? ""));
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}

const source = filesOf("src");
/** The commands, and the scripts that build and start the program. */
const commands = [...filesOf("cli"), ...filesOf(".ci")];
const tests = filesOf("test");
const data = filesOf("data");
const program = [...source, ...commands];
const shipped = program.filter((file) => !file.path.endsWith(".d.ts"));
const all = [...program, ...tests];

const matching = (files: readonly SourceFile[], pattern: RegExp) =>
  files.filter(({ code }) => pattern.test(code)).map(({ path }) => path);

/** Returns the layer of a file: `domain` for `src/domain/keys.ts`, `cli` for `cli/serve/serve.ts`. */
function layerOf(path: string): string {
  const [top = "", second = ""] = path.split("/");
  return top === "src" ? second.replace(/\.ts$/, "") : top;
}

/** The layers that each layer may import: cli → app → console | site → api → http → domain → partner, and adapters. */
const adapter = ["domain", "partner", "config", "logger", "metrics"];
const http = ["http", ...adapter];
const api = ["api", "service", "data", ...http];
const site = ["site", "manual", ...api];
const allowed: Readonly<Record<string, readonly string[]>> = {
  cli: [
    "cli",
    "app",
    "access-log",
    "routes",
    "console",
    "store",
    "signing",
    "delivery",
    ...site,
    "package.json",
  ],
  ".ci": [".ci", "cli", "package.json", "package-lock.json"],
  app: ["routes", ...site],
  routes: site,
  console: ["console", ...site],
  site,
  api,
  service: http,
  http,
  store: ["store", ...adapter],
  signing: ["signing", "foreign", "data", ...adapter],
  delivery: ["delivery", "data", ...adapter],
  config: ["domain"],
  logger: [],
  "access-log": ["domain", "logger"],
  foreign: [],
  manual: ["data", "partner"],
  metrics: ["metrics", "domain", "partner", "logger", "data"],
  domain: ["domain", "partner", "data"],
  partner: ["partner"],
};
/** Layers of which a layer may import types only. It gets stores, with the types of the create functions. */
const allowedTypes: Readonly<Record<string, readonly string[]>> = {
  domain: ["store"],
  console: ["store"],
  metrics: ["store"],
  delivery: ["store"],
};

const isRelative = (specifier: string) => specifier.startsWith(".");
const targetOf = (file: SourceFile, specifier: string) =>
  relative(root, resolve(root, dirname(file.path), specifier));

/** Lists the imports of a file that its layer may not have. */
function wrongImports(file: SourceFile): string[] {
  const from = layerOf(file.path);
  const isAllowed = (layers: Readonly<Record<string, readonly string[]>>, specifier: string) =>
    layers[from]?.includes(layerOf(targetOf(file, specifier))) === true;
  const values = importsOf(file.text.replace(/\bimport type\b[^"';]*?\bfrom\s*"[^"]+"/g, ""));
  return [...new Set(file.imports.filter(isRelative))]
    .filter((one) => !isAllowed(allowed, one) && (values.includes(one) || !isAllowed(allowedTypes, one)))
    .map((one) => `${file.path} imports ${one}`);
}

const importing = (files: readonly SourceFile[], is: (specifier: string) => boolean) =>
  files.flatMap((file) => file.imports.filter(is).map((one) => `${file.path} imports ${one}`));

/** The files that may import modules of Bun: the build, and code for Bun alone that has a portable fallback. */
const boundToBun = [".ci/build.ts", "src/foreign.ts"];

test("every file imports only from the layers that its layer may import", () => {
  expect(shipped.flatMap(wrongImports)).toEqual([]);
});

test("every source file belongs to a layer whose imports are checked", () => {
  expect(
    [...new Set(program.map((file) => layerOf(file.path)))].filter((layer) => layer !== "assets.d"),
  ).toSatisfy((layers: string[]) => layers.every((layer) => layer in allowed));
  const counted = program.reduce((sum, file) => sum + file.imports.length, 0);
  expect(counted).toBeGreaterThan(300);
  expect(
    importsOf(
      'import a, {\n  type B,\n} from "./x.ts";\nexport * from "./y.ts";\nimport "./z.ts";\nawait import("w");',
    ),
  ).toEqual(["./x.ts", "./y.ts", "./z.ts", "w"]);
});

test("src/partner imports no package and no module of Node or Bun", () => {
  const partner = source.filter((file) => layerOf(file.path) === "partner");
  expect(importing(partner, (one) => !isRelative(one))).toEqual([]);
  expect(matching(partner, /\b(?:Buffer|process|Bun|Deno|require)\b[.(]/)).toEqual([]);
});

test("src/domain imports no database, HTTP, thread or terminal module", () => {
  const adapters =
    /^(?:libsql|@libsql\/|hono|@hono\/|citty|cli-|@logtape\/|node:(?:https?|net|tls|dgram|worker_threads|child_process|readline))/;
  const domain = source.filter((file) => layerOf(file.path) === "domain");
  expect(importing(domain, (one) => adapters.test(one))).toEqual([]);
});

test("no file of src, cli or .ci imports a module of Bun or Deno, or a URL", () => {
  const portable = program.filter((file) => !boundToBun.includes(file.path));
  expect(importing(portable, (one) => /^(?:bun$|bun:|npm:|jsr:|https?:)/.test(one))).toEqual([]);
});

test("relative imports have a file extension, and imports of Node's modules have the prefix node:", () => {
  const bare = builtinModules.filter((one) => !one.startsWith("bun"));
  const isWrong = (one: string) => (isRelative(one) ? !/\.\w+$/.test(one) : bare.includes(one));
  expect(importing(program, isWrong)).toEqual([]);
});

test("imports form no cycle, apart from imports of types", () => {
  const graph = new Map(program.map((file) => [file.path, valueImports(file)]));
  const circles: string[] = [];
  for (const start of graph.keys()) {
    const seen = new Set<string>();
    const open = [...(graph.get(start) ?? [])];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      if (path === start) circles.push(start);
      if (seen.has(path) || path === start) continue;
      seen.add(path);
      open.push(...(graph.get(path) ?? []));
    }
  }
  expect(circles).toEqual([]);
});

/** Lists the files that are loaded with a file. Imports of types and dynamic imports are left out. */
function valueImports(file: SourceFile): string[] {
  const code = file.code.replace(/\b(?:import|export)\s+type\b[^"';]*?\bfrom\s*"[^"]+"/g, "");
  const statements = [...code.matchAll(/\b(?:import|export)\b([^"';(]*?)\bfrom\s*"(\.[^"]+)"/g)];
  return statements
    .filter(([, names = ""]) => !/^\s*\{(?:\s*type\s+\w+(?:\s+as\s+\w+)?\s*,?)+\s*\}\s*$/.test(names))
    .map(([, , specifier = ""]) => targetOf(file, specifier));
}

/** The files whose exports are for partners, so that no file here has to import them all. */
const packageEntries = Object.values(
  (JSON.parse(read("package.json")) as { exports?: object }).exports ?? {},
).map((entry) => String(entry).replace(/^\.\//, ""));

/** The files of this repository that each file imports, statically or dynamically. */
const targets = new Map(
  [...shipped, ...tests, ...data].map((file) => [
    file.path,
    new Set(file.imports.filter(isRelative).map((one) => targetOf(file, one))),
  ]),
);
const imports = (file: SourceFile, target: SourceFile) => targets.get(file.path)?.has(target.path) === true;

function exportedNames({ code }: SourceFile): string[] {
  const declaration = /^export (?:async )?(?:const|let|function\*?|class|type|interface) (\w+)/gm;
  return [...code.matchAll(declaration)].map(([, name = ""]) => name);
}

/** Whether a file that imports `target` uses the name, also after a dynamic import. */
function isTaken(target: SourceFile, name: string): boolean {
  const named = new RegExp(`\\b${name}\\b`);
  return [...shipped, ...tests, ...data].some((file) => imports(file, target) && named.test(file.code));
}

test("every file of src, cli, .ci and test has at most four hundred lines", () => {
  const long = all.filter(({ text }) => text.trimEnd().split("\n").length > 400);
  expect(long.map(({ path }) => path)).toEqual([]);
});

test("no file of src, cli or .ci exports a name that no other file imports", () => {
  const whole = [...packageEntries, "src/partner/api-types.ts"];
  const idle = shipped
    .filter((file) => !whole.includes(file.path))
    .flatMap((file) => exportedNames(file).map((name) => ({ file, name })))
    .filter(({ file, name }) => !isTaken(file, name))
    .map(({ file, name }) => `${file.path}: ${name}`);
  expect(idle).toEqual([]);
});

test("no file is called index, util, helper, common or misc", () => {
  const vague = /(?:^|\/)(?:index|utils?|helpers?|common|misc)\.ts$/;
  expect(all.map(({ path }) => path).filter((path) => vague.test(path))).toEqual([]);
});

// A pattern is joined from two parts if this file would match the whole pattern.
test.each<[string, readonly SourceFile[], RegExp, string[]]>([
  ["opens databases, but connection.ts", program, /\bimport\("libsql"\)/, ["src/store/driver/connection.ts"]],
  [
    "stores events, but events.ts, which stores each with its deliveries",
    program,
    /\bINTO events\b|\bmakeInserts\("events"/,
    ["src/store/events.ts"],
  ],
  ["of src reads process.env, which commands pass to config.ts", source, /\bprocess\.env\b/, []],
  ["has the type any", all, /(?:[:<,|&(=]|\bas)\s*any\b\s*(?:[,;)>\]|&={[]|$)/m, []],
])("no file %s", (_what, files, pattern, own) => expect(matching(files, pattern)).toEqual(own));

test.each<[string, readonly SourceFile[], RegExp]>([
  ["turns the compiler off", all, new RegExp(`@ts-${"(?:ignore|expect-error|nocheck)"}`)],
  ["has a note of unfinished work", all, new RegExp(`\\b(?:${"TO"}DO|${"FIX"}ME)\\b`)],
  ["skips a test", tests, /\b(?:test|describe|it)\.(?:skip|only|todo)\(/],
])("no file %s, in comments either", (_what, files, pattern) => {
  expect(files.filter(({ text }) => pattern.test(text)).map(({ path }) => path)).toEqual([]);
});
