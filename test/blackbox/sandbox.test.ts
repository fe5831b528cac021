import { expect, test } from "bun:test";
import { waitForAnswer } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { runTvs, startService, testTimeoutMs } from "../harness/program.ts";
import { api } from "./world.ts";

test(
  "a starting sandbox prints where to begin, a demo key and a curl command, then its URL, then a link to its console",
  () =>
    withTempDir(async (dataDir) => {
      const service = await startService({ dataDir, args: ["--sandbox"] });
      const { url } = service;
      try {
        const printed = service.stdout();
        const demoKey = /tvs_test_[0-9A-Za-z]{61}/.exec(printed)?.[0] ?? "";
        expect(demoKey).not.toBe("");
        expect(printed).toContain("curl");
        const places = ["/", "/verify-envelope", `${api}/getting-started`, `${api}/docs`];
        const at = places.map((path) => printed.indexOf(` ${url}${path}\n`));
        expect(at.every((place) => place > 0 && place < printed.indexOf("tvs_test_"))).toBe(true);
        expect(printed.trim().split("\n").length).toBeLessThan(25);
        expect(printed.match(/^listening on http:/gm)).toHaveLength(1);
        const last = new RegExp(
          `\nlistening on ${url}\nconsole (http://127\\.0\\.0\\.1:\\d+/open\\S+) .*\n$`,
        );
        const link = await waitForAnswer(
          async () => last.exec(service.stdout())?.[1],
          (found) => found !== undefined,
        );
        expect((await fetch(link ?? "", { redirect: "manual" })).status).toBe(303);
        const { stdout } = await runTvs(["sandbox", "teachers"], { dataDir });
        expect(stdout).toMatch(/^TR\/2019\/LA\/000003 +1003 +99900000003 +licence revoked$/m);
        const headers = { "x-agency-api-key": demoKey };
        expect((await fetch(`${url}${api}/lookup/by-tid/1003`, { headers })).status).toBe(200);
      } finally {
        expect(await service.stop()).toBe(0);
      }
    }),
  testTimeoutMs,
);
