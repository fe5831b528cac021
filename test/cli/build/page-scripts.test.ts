import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { bundlePageScripts } from "../../../cli/build/page-scripts.ts";

/** A stale bundle would verify by yesterday's rules. To mend it: npm run bundle */
test("the scripts of the envelope page are bundled from the source as it is", async () => {
  const bundles = [...(await bundlePageScripts())];
  expect(bundles.length).toBe(2);
  for (const [path, fresh] of bundles) {
    const kept = await readFile(path, "utf8");
    expect(kept === fresh ? "fresh" : `${path} is stale: npm run bundle`).toBe("fresh");
  }
});
