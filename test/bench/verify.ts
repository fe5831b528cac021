import { createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { sealEnvelopes } from "../../src/domain/envelopes.ts";
import type { EligibilityResult } from "../../src/partner/contract.ts";
import { withTempDir } from "../harness/folder.ts";
import type { Bench } from "./bench.ts";
import { cores, measureLimitFor } from "./machine.ts";
import { inTurn } from "./programs.ts";

const fullCount = 100_000;
const quickCount = 10_000;
const issuer = "https://teachers.example";
const audience = "bench";
const kid = "bench-key";
const signedAtSeconds = 1_772_357_400;
const inFlight = 64;

const signWithKey = promisify<string, Buffer, KeyObject, Buffer>(sign);

/** A registered teacher like most: every fifth has a name beyond ASCII, every third comes from the old register. */
function resultOf(index: number): EligibilityResult {
  const isLegacy = index % 3 === 0;
  return {
    found: true,
    source: isLegacy ? "legacy" : "new_system",
    status: "VALID",
    eligible: true,
    reasons: [],
    teacher: {
      name: index % 5 === 0 ? "Ngozi Ọlá-Bello" : "Chinedu Okafor",
      tId: 200_000 + index,
      state: "Lagos",
      category: "A",
    },
    license: { status: "VALID", issueDate: "2025-06-01", expiryDate: "2027-05-31", daysRemaining: 456 },
    certificate: { status: "VERIFIED", regNo: `LA/2019/PRI/${index}`, issueDate: "2019-09-12" },
    profile: isLegacy
      ? null
      : {
          ninVerified: true,
          qualifications: [{ title: "B.Ed.", institution: "University of Lagos", year: 2018 }],
          employment: [],
        },
  };
}

/** Writes envelopes as the service seals them, each signed by itself. */
async function writeEnvelopes(folder: string, count: number): Promise<{ file: string; jwks: string }> {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const signOne = async (input: string) =>
    (await signWithKey("sha256", Buffer.from(input), privateKey)).toString("base64url");
  const sign = (_kid: string, inputs: readonly string[]) => Promise.all(inputs.map(signOne));
  const claimsOf = (index: number) => ({
    verificationId: randomUUID(),
    issuer,
    audience,
    issuedAt: signedAtSeconds + (index % 86_400),
    result: resultOf(index),
  });
  const [file, jwks] = [join(folder, "envelopes.ndjson"), join(folder, "jwks.json")];
  const writer = Bun.file(file).writer();
  for (let start = 0; start < count; start += inFlight) {
    const indexes = Array.from({ length: Math.min(inFlight, count - start) }, (_, offset) => start + offset);
    for (const { json } of await sealEnvelopes(indexes.map(claimsOf), kid, sign)) writer.write(`${json}\n`);
  }
  await writer.end();
  const { n, e } = createPublicKey(privateKey).export({ format: "jwk" });
  await Bun.write(jwks, JSON.stringify({ keys: [{ kty: "RSA", use: "sig", alg: "RS256", kid, n, e }] }));
  return { file, jwks };
}

/** One run of the command, from its start to its exit. */
async function runVerify(words: readonly string[]): Promise<{ seconds: number; cpuSeconds: number }> {
  const startMs = performance.now();
  const child = Bun.spawn([...words], { stdout: "ignore", stderr: "inherit" });
  const code = await child.exited;
  if (code !== 0) throw new Error(`tvs verify ended with ${code}`);
  const seconds = (performance.now() - startMs) / 1000;
  return { seconds, cpuSeconds: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6 };
}

/** `tvs verify` of NDJSON envelopes, beside the verifications that OpenSSL makes in the same minute. */
export const verifyBench: Bench = async ({ figures, programs, rounds, isQuick }) => {
  const count = isQuick ? quickCount : fullCount;
  const name = `tvs verify of ${count.toLocaleString("en")} envelopes`;
  const table = figures.about("How fast are envelopes verified?");
  await withTempDir(async (folder) => {
    const { file, jwks } = await writeEnvelopes(folder, count);
    const words = ["verify", "--jwks", jwks, "--issuer", issuer, "--audience", audience, "--json", file];
    for (let round = 0; round < rounds; round++) {
      const limit = (await measureLimitFor(figures))?.verify;
      for (const program of inTurn(programs, round)) {
        const { isEarlier } = program;
        const { seconds, cpuSeconds } = await runVerify([...program.words, ...words]);
        table.add(name, { unit: "envelopes/s", isEarlier }, count / seconds);
        table.add(`${name}, CPU`, { unit: "µs an envelope", isEarlier }, (cpuSeconds * 1e6) / count);
        if (limit === undefined) continue;
        const terms = { isEarlier, limit: "verifications/s" };
        const ofCores = { ...terms, unit: "of openssl verify × cores" };
        const oneEach = limit.oneCore * cores;
        table.add(`${name}, part of the limit`, ofCores, count / seconds / oneEach, oneEach);
        const ofMulti = { ...terms, unit: `of openssl verify -multi ${cores}` };
        const { allCores } = limit;
        table.add(`${name}, part of all cores at once`, ofMulti, count / seconds / allCores, allCores);
      }
    }
  });
};
