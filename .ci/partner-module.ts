/**
 * The module that partners import: itself as one file of JavaScript, and its declarations as one file. The service
 * serves them as `/v1/inter-agency/verify.mjs` and `verify.d.mts`, and they are what the package consists of (decision
 * D14.1).
 */

import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { projectFolder } from "./build.ts";

const entry = join(projectFolder, "src/partner/partner.ts");
export const moduleFile = join(projectFolder, "src/api/verify.bundle.js");
export const declarationsFile = join(projectFolder, "src/api/verify.types.txt");

const title = `tvs-partner ${manifest.version}, ${manifest.license} licence: verifies the answers and webhooks of a Teacher Verification Service`;

/**
 * Refuses a runtime without WebCrypto with a clear message. A page without https has `crypto`, but not all of it; the
 * verifier refuses such a page itself.
 */
const guard = `if (typeof globalThis.crypto === "undefined") {
  throw new Error("tvs-partner needs Node 20 or later, Bun, Deno or a browser; this is " + (typeof process === "object" ? "Node " + process.versions.node : "none of them"));
}
`;

/** Bundles the module without minifying it: a partner who relies on a verifier may want to read it. */
export async function partnerModule(): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [entry],
    root: projectFolder,
    target: "browser",
    format: "esm",
    env: "disable",
  });
  const [output] = outputs;
  if (output === undefined) throw new Error("nothing was bundled for the partners' module");
  return `// ${title}\n${guard}${await output.text()}`;
}

const importStatement = /^(?:import|export)\b[^;]*?\bfrom "\.\/[\w-]+\.ts";\n/gm;

/** Lists the names that a file re-exports, with `type` before the name of a type. */
function exportedNames(text: string): string[] {
  const lists = [...text.matchAll(/^export (type )?\{([^}]*)\} from /gm)];
  return lists.flatMap(([, type = "", names = ""]) =>
    names
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "")
      .map((name) => (name.startsWith("type ") ? name : `${type}${name}`)),
  );
}

/** Reads the declarations of a file and of all files that it imports, directly or not. */
async function reachable(folder: string, from: string): Promise<string[]> {
  const seen = new Set<string>();
  const texts: string[] = [];
  for (const open = [from]; open.length > 0; ) {
    const name = open.pop() ?? "";
    if (seen.has(name)) continue;
    seen.add(name);
    const text = await readFile(join(folder, `${name}.d.ts`), "utf8");
    open.push(...[...text.matchAll(/ from "\.\/([\w-]+)\.ts";$/gm)].map(([, other = ""]) => other));
    texts.push(text);
  }
  return texts;
}

/**
 * Makes the module's declarations as one file. It has those of all files, made by the compiler, and exports only the
 * module's names. A test ensures that no two files declare the same name.
 */
export async function partnerDeclarations(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tvs-types-"));
  try {
    const words = ["--ignoreConfig", "--declaration", "--emitDeclarationOnly", "--outDir", folder];
    const kind = ["--target", "ES2023", "--lib", "ES2024,DOM,DOM.Iterable", "--types", ""];
    const strictness = ["--strict", "--exactOptionalPropertyTypes", "--allowImportingTsExtensions"];
    const modules = ["--module", "preserve", "--moduleResolution", "bundler"];
    const compiler = join(projectFolder, "node_modules/typescript/bin/tsc");
    execFileSync("node", [compiler, ...words, ...kind, ...strictness, ...modules, entry]);
    const name = basename(entry, ".ts");
    const names = exportedNames(await readFile(join(folder, `${name}.d.ts`), "utf8"));
    if ((await readdir(folder)).length < 2) throw new Error("the compiler made no declarations");
    const texts = (await reachable(folder, name)).map((text) =>
      text
        .replace(importStatement, "")
        // TypeScript before 5.7 has this type without a parameter.
        .replaceAll("Uint8Array<ArrayBuffer>", "Uint8Array")
        .replace(/^export \{\};\n/gm, "")
        .replace(/^export (?=declare |type )/gm, ""),
    );
    return `// ${title}\n${texts.join("")}\nexport { ${names.sort().join(", ")} };\n`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
