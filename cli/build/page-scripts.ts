/**
 * Bundles the scripts of the envelope page, once, into files that are kept with the source: Deno and the compiled
 * program have no bundler at hand. Run it (`npm run bundle`) after a change to src/partner or to the page; a test
 * says when it is due.
 */

import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

const folder = resolve(import.meta.dirname, "../../src/site/verify-envelope");
const scripts = ["app", "scanner"];

/** The bundles by their file's path. @throws AggregateError what Bun's bundler says */
export async function bundlePageScripts(): Promise<Map<string, string>> {
  const bundles = new Map<string, string>();
  for (const name of scripts) {
    const { outputs } = await Bun.build({
      entrypoints: [join(folder, `${name}.ts`)],
      target: "browser",
      format: "esm",
      minify: true,
      env: "disable",
    });
    const [output] = outputs;
    if (output === undefined) throw new Error(`nothing was bundled for ${name}.ts`);
    bundles.set(join(folder, `${name}.bundle.js`), await output.text());
  }
  return bundles;
}

if (import.meta.main) {
  for (const [path, text] of await bundlePageScripts()) {
    await writeFile(path, text);
    console.log(`${path}: ${(text.length / 1000).toFixed(1)} kB`);
  }
}
