/** Runs each command line of the manual's page `key-theft` and compares its output with the page. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Buffer } from "node:buffer";
import { createPrivateKey, sign } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { logWriterOf } from "../../../cli/evidence/open-evidence.ts";
import type { OpenedRegister } from "../../../cli/open.ts";
import { openService } from "../../../cli/serve/open-service.ts";
import { readCommandConfig } from "../../../src/config.ts";
import { decryptCheckpointKey } from "../../../src/domain/evidence/log.ts";
import { scopes } from "../../../src/domain/partners.ts";
import { purposes } from "../../../src/partner/contract.ts";
import { signCheckpoint } from "../../../src/partner/log-checkpoint.ts";
import { leafHashOfAttestation } from "../../../src/partner/merkle-proof.ts";
import { createLogStore } from "../../../src/store/evidence/log.ts";
import { openShell, repositoryPath, type Shell } from "../../blackbox/printed-commands.ts";
import { aClock } from "../../harness/clock.ts";
import { answerCall } from "../../harness/evidence-log.ts";
import { testTimeoutMs } from "../../harness/program.ts";
import { anApiKey, aPartner, aTeacherWrite } from "../../harness/samples.ts";
import { makeRegister as makeEmptyRegister } from "../../harness/service.ts";

setDefaultTimeout(4 * testTimeoutMs);

const issuer = "https://verify.example.org";

let shell: Shell;
/** Maps each value of this run to the value that the page prints. */
const printedAs = new Map<string, string>();

/** Makes a register in which an examination board asks twice on 1 March, and forgeries with its stolen keys. */
async function makeRegister(): Promise<void> {
  const clock = aClock("2026-02-01T09:00:00Z");
  const config = readCommandConfig({ data: join(shell.home, "data") }, {});
  await makeEmptyRegister(config.dataDir, { at: clock.now() });
  const { operator, service, close } = await openService(config, { clock, defaultIssuer: issuer });
  const { stores } = operator;
  await stores.teachers.apply([aTeacherWrite("TR/2019/LA/000001"), aTeacherWrite("TR/2020/KN/000002")]);
  const partner = { ...aPartner("exam-board"), scopes, purposes };
  await stores.partners.add(partner, anApiKey("exam-board", "k1"));

  async function ask(regNo: string, file: string): Promise<Envelope> {
    const questions = [{ identifier: { regNo }, purpose: "BODYA_INVIGILATOR_ELIGIBILITY" }] as const;
    const envelope = await answerCall(service, { partner, operation: "eligibility-check", questions });
    await writeFile(join(shell.home, file), envelope);
    return JSON.parse(envelope);
  }
  const signLog = () => logWriterOf(operator, stores.evidence).checkpoint();

  // This time is so close to the next time that no checkpoint is made between them.
  clock.set("2026-03-01T09:29:55Z");
  await ask("TR/2020/KN/000002", "another.json");
  await signLog();
  clock.set("2026-03-01T09:30:00Z");
  const genuine = await ask("TR/2019/LA/000001", "envelope.json");
  clock.set("2026-03-01T09:30:20Z");
  await signLog();
  const { verificationId, signatureKid: kid } = genuine;
  await forgeProof(operator, await forge(operator, genuine));
  await close();
  for (const [name, value] of Object.entries({ VERIFICATION_ID: verificationId, KID: kid }))
    await shell.set(name, value);
  printedAs.set(verificationId, "019ca8a5-1b40-7c3e-9b51-0d3f5a7e6c21");
  printedAs.set(kid, "q5rX0Zb1mW8yTn3vKcA2uLdE7hJfGs9oPiQxRtYwUk4");
}

type Envelope = {
  readonly verificationId: string;
  readonly signatureKid: string;
  readonly signature: string;
};
/** What a thief has who copied the backup and the master key. */
type Stolen = Pick<OpenedRegister, "stores" | "secrets" | "driver">;

/** Forges an envelope for an unknown teacher, dated an hour before the first call. */
async function forge({ stores, secrets }: Stolen, envelope: Envelope): Promise<string> {
  const claims = JSON.parse(Buffer.from(envelope.signature.split(".")[1] ?? "", "base64url").toString());
  const iat = Math.floor(Date.parse("2026-03-01T08:15:00Z") / 1_000);
  const sub = "019ca860-6e20-7d42-a2c6-7b9e14f08d33";
  const { teacher, certificate } = claims.result;
  const result = {
    ...claims.result,
    teacher: { ...teacher, name: "Tunde Bello" },
    certificate: { ...certificate, regNo: "TR/2018/LA/000777" },
  };
  const kid = envelope.signatureKid;
  const { sealed } = (await stores.keys.list()).find((one) => one.kid === kid) ?? {};
  const der = Buffer.from(secrets.open(sealed ?? new Uint8Array(), kid));
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const input = `${part({ alg: "RS256", kid, typ: "JWT" })}.${part({ ...claims, sub, iat, result })}`;
  const signature = `${input}.${sign("sha256", Buffer.from(input), key).toString("base64url")}`;
  const forged = { ...envelope, verificationId: sub, verifiedAt: "2026-03-01T08:15:00Z", result, signature };
  await writeFile(join(shell.home, "forged.json"), JSON.stringify(forged));
  return signature;
}

/** Forges a proof with the stolen log key: a log of one entry. */
async function forgeProof({ driver, secrets }: Stolen, jws: string): Promise<void> {
  const root = await leafHashOfAttestation(jws);
  const seconds = Math.floor(Date.parse("2026-03-01T08:15:30Z") / 1_000);
  const [log] = await createLogStore(driver).logs();
  if (log === undefined) throw new Error("there is no log");
  const key = decryptCheckpointKey(log, secrets);
  const note = await signCheckpoint({ origin: log.origin, size: 1, root }, seconds, key);
  await writeFile(join(shell.home, "forged.proof"), `c2sp.org/tlog-proof@v1\nindex 0\n\n${note}`);
}

beforeAll(async () => {
  shell = await openShell(() => ({}));
  await makeRegister();
});

afterAll(() => shell?.close());

/** Finds the command lines of each block of the page, and the output below the block. */
function blocksOf(page: string): { lines: string[]; printed: string | null }[] {
  const blocks = page.matchAll(/^```sh\n([\s\S]*?)^```\n(?:\n```text\n([\s\S]*?)^```\n)?/gm);
  return [...blocks].map(([, lines = "", printed = null]) => ({
    lines: lines.split("\n").filter((line) => line !== ""),
    printed,
  }));
}

test("the output in the manual's page key-theft equals the program's output, line by line", async () => {
  const page = await readFile(repositoryPath("data/help/key-theft.md"), "utf8");
  for (const { lines, printed } of blocksOf(page)) {
    for (const line of lines) {
      if (line !== lines.at(-1) || printed === null) {
        await shell.runWell(line);
        continue;
      }
      const { stdout } = await shell.run(line);
      const said = [...printedAs].reduce((text, [from, to]) => text.replaceAll(from, to), stdout);
      expect({ line, said }).toEqual({ line, said: printed });
    }
  }
});
