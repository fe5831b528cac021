import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { openService } from "../../../cli/serve/open-service.ts";
import { createApp } from "../../../src/app.ts";
import { readConfig } from "../../../src/config.ts";
import { signingSecrets } from "../../../src/domain/webhooks.ts";
import type { KeptCall, KeptRelease } from "../../fixtures/releases/make.ts";
import { answerOf } from "../../harness/answer.ts";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { tried } from "../../harness/trial.ts";

const fixtures = join(import.meta.dirname, "../../fixtures/releases");
const releases = readdirSync(fixtures, { withFileTypes: true }).filter((entry) => entry.isDirectory());

/** The register as its release left it, in a folder of its own. */
function unpack(name: string, folder: string): { dataDir: string; release: KeptRelease } {
  const dataDir = join(folder, "data");
  mkdirSync(dataDir, { mode: 0o700 });
  const files = readdirSync(join(fixtures, name));
  for (const file of files.filter((one) => one.endsWith(".gz"))) {
    const path = join(dataDir, file.slice(0, -".gz".length));
    writeFileSync(path, gunzipSync(readFileSync(join(fixtures, name, file))));
    chmodSync(path, 0o600);
  }
  return { dataDir, release: JSON.parse(readFileSync(join(fixtures, name, "release.json"), "utf8")) };
}

/** Puts every call again, to this program over the register, an hour after its release was asked. */
async function askAgain(dataDir: string, { madeAt, calls, webhookSecret }: KeptRelease) {
  const clock = { now: () => madeAt + 3_600_000 };
  const opened = await openService(readConfig({ data: dataDir }, {}), { clock });
  try {
    const { operator, service } = opened;
    const endpoint = await operator.stores.webhooks.endpoint("board");
    expect(endpoint && signingSecrets(operator.secrets, endpoint, clock.now())).toEqual([webhookSecret]);
    const app = createApp(service, { publicPerMinute: 60, trustedProxies: [] });
    const answers: { call: KeptCall; text: string; replayed: string | null }[] = [];
    for (const call of calls) {
      const { path, answer: _, ...init } = call;
      const response = await answerOf(app, path, init);
      expect([path, response.status]).toEqual([path, 200]);
      const replayed = response.headers.get("Idempotent-Replayed");
      answers.push({ call, text: await response.text(), replayed });
    }
    return answers;
  } finally {
    await opened.close();
  }
}

test("there is a register of each release in which a wave of changes landed", () => {
  expect(releases.length).toBeGreaterThanOrEqual(7);
});

describe.each(releases.map(({ name }) => name))("the register of release %s", (name) => {
  test(
    "is upgraded, replays to the byte, audits whole, and its envelopes are verified",
    tried("upgrades", (trial) =>
      withTempDir(async (folder) => {
        const { dataDir, release } = unpack(name, folder);
        const tvs = async (...words: string[]) => {
          const { code, stdout, stderr } = await runTvs(words, { dataDir });
          expect({ words, code, stderr: code === 0 ? "" : stderr }).toEqual({ words, code: 0, stderr: "" });
          return stdout;
        };
        await tvs("upgrade");
        expect(JSON.parse(await tvs("partners", "show", "board", "--json"))).toMatchObject({
          told: { events: ["license.expired", "license.revoked"], teachers: "verified" },
          selfService: false,
        });

        const answers = await askAgain(dataDir, release);
        const kept = answers.filter(({ call }) => "Idempotency-Key" in call.headers);
        expect(kept.length).toBeGreaterThanOrEqual(3);
        for (const { call, text, replayed } of kept) expect([text, replayed]).toEqual([call.answer, "true"]);
        // What was asked for the first time before the revocation, and is asked anew, is answered as things stand now.
        const byNin = answers.find(({ call }) => call.path.endsWith("/by-nin"));
        expect(JSON.parse(byNin?.call.answer ?? "").result.status).toBe("VALID");
        expect(JSON.parse(byNin?.text ?? "").result.status).toBe("REVOKED");

        // Nine answers of then, and the three of now that no key of before replays.
        const audited = JSON.parse(await tvs("log", "audit", "--signatures", "--json"));
        expect(audited).toMatchObject({ verdict: "whole", found: 0, waiting: 0 });
        expect(audited.epochs).toMatchObject([{ size: 12, compared: 12, verified: 12, lost: 0, pruned: 0 }]);
        writeFileSync(join(folder, "history"), await tvs("keys", "history"));
        const envelopes = release.calls.flatMap(({ answer }) => {
          const value = JSON.parse(answer);
          return value.results ?? [value];
        });
        writeFileSync(join(folder, "all.json"), JSON.stringify(envelopes));
        const history = ["--key-history", join(folder, "history"), "--audience", "board"];
        const issuer = ["--issuer", "https://verify.example.org"];
        const verdicts = (
          await tvs("verify", join(folder, "all.json"), ...history, ...issuer, "--json")
        ).trim();
        expect(verdicts.split("\n").map((line) => JSON.parse(line).valid)).toEqual(envelopes.map(() => true));
        trial.count("registers of earlier releases");
        trial.count("calls asked again", answers.length);
      }),
    ),
  );
});
