/** A whole process under requests and bytes that are drawn by chance, on the partners' port and the operator's. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { mintApiKey } from "../../src/domain/credentials.ts";
import { scopes } from "../../src/domain/partners.ts";
import { purposes } from "../../src/partner/contract.ts";
import { until } from "../harness/eventually.ts";
import { makeFolder } from "../harness/folder.ts";
import { type Service, startService } from "../harness/program.ts";
import { openClient } from "../harness/raw-client.ts";
import { aPartner, aTeacherWrite } from "../harness/samples.ts";
import { known, withTestOperator } from "../harness/service.ts";
import { countOf, seedOf, tell } from "../harness/trial.ts";
import { bytesOf, editedBytes, type Stream, stream } from "./http-bytes.ts";

let folder: Awaited<ReturnType<typeof makeFolder>>;
let service: Service;
let key: string;
/** The operator's port, and the session that its link has begun. */
let console: { port: number; cookie: string; home: string };

beforeAll(async () => {
  folder = await makeFolder();
  await withTestOperator(folder.path, async ({ stores, blindIndex, secrets, keyKind: kind }) => {
    const { text, record } = mintApiKey("asker", { kind, secrets, now: Date.now() });
    const terms = { scopes, purposes, perMinute: 1_000_000, perDay: 1_000_000_000 };
    await stores.partners.add({ ...aPartner("asker"), ...terms }, record);
    await stores.teachers.apply([
      aTeacherWrite(known.regNo, { tId: known.tId, ninIndex: blindIndex.nin(known.nin), ninVerified: true }),
    ]);
    await stores.settings.write({ hold_webhooks: "true" });
    key = text;
  });
  const args = ["--admin-port", "0", "--public-per-minute", "1000000"];
  service = await startService({ dataDir: folder.path, args });
  const link = () => /^console (\S+)/m.exec(service.stdout())?.[1] ?? "";
  await until(() => link() !== "");
  const opened = await fetch(link(), { redirect: "manual" });
  const cookie = (opened.headers.get("Set-Cookie") ?? "").replace(/;.*/, "");
  const home = opened.headers.get("Location") ?? "";
  console = { port: Number(new URL(link()).port), cookie, home };
});
afterAll(async () => {
  await service.stop("SIGKILL");
  await folder.remove();
});

const quietMs = 40;

test("whatever bytes come, the process answers the next caller, and has not grown by them", async () => {
  // Each has connections of its own, and often waits for one that is quiet.
  const streams = Math.max(40, Math.ceil(countOf("TVS_REQUESTS", 40) / 100));
  const seed = seedOf();
  let tried = 0;
  const send = async (drawn: Stream) => {
    tried++;
    const answers = await answersTo(drawn);
    if (drawn.edits.length === 0 && !/^HTTP\/1\.1 \d/.test(answers)) throw new Error("no answer");
    if (/^HTTP\/1\.1 5/m.test(answers))
      throw new Error(answers.replace(/^(HTTP\/1\.1 [^5])/gm, "").slice(0, 400));
  };
  const warm = Math.ceil(streams / 10);
  await fc.check(fc.asyncProperty(stream, send), { seed: seed + 1_000_000, numRuns: warm });
  const before = await residentBytes();
  const outcome = await fc.check(fc.asyncProperty(stream, send), {
    seed,
    numRuns: streams,
    endOnFailure: true,
  });
  const grown = (await residentBytes()) - before;
  const health = await fetch(`${service.url}/v1/inter-agency/health`);
  const failures =
    service.stderr().match(/.*(?:request failed|Unhandled|TypeError|the console failed).*/g) ?? [];
  tell("fuzz-http", { tried: { streams: tried }, wrong: Number(outcome.failed) + failures.length });
  const again = `TVS_SEED=${seed} TVS_REQUESTS=${streams * 100} npm test -- test/fuzz/http-bytes.test.ts`;
  expect(
    outcome.failed && `${again}\n${outcome.errorInstance}\n${JSON.stringify(outcome.counterexample)}`,
  ).toBe(false);
  expect(failures).toEqual([]);
  expect(health.status).toBe(200);
  expect(grown).toBeLessThan(256 * 1024 * 1024);
}, 3_600_000);

/** What comes back until the service has closed the connection: it is asked to, if the bytes still say so. */
async function answersTo({ console: isConsole, requests, edits }: Stream): Promise<string> {
  const port = isConsole ? console.port : Number(new URL(service.url).port);
  const client = await openClient({ port });
  const own: Record<string, string> = isConsole
    ? { Cookie: console.cookie }
    : { Authorization: `Bearer ${key}` };
  const bytes = requests.map(({ headers, url, ...one }, at) => {
    const last = at === requests.length - 1 ? { Connection: "close" } : {};
    return bytesOf(`127.0.0.1:${port}`, {
      ...one,
      url: url.replace(/^\/s\/own\//, console.home),
      headers: { ...headers, ...own, ...last },
    });
  });
  client.write(editedBytes(Buffer.concat(bytes), edits));
  if (edits.length === 0) return client.closed;
  // Half a request waits for its other half: who sends no more than this says so when nothing has come for a while.
  let leave = setTimeout(() => client.socket.end(), quietMs);
  client.socket.on("data", () => {
    clearTimeout(leave);
    leave = setTimeout(() => client.socket.end(), quietMs);
  });
  return client.closed.finally(() => clearTimeout(leave));
}

/** The memory of the process, as it tells itself. */
async function residentBytes(): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${console.port}/metrics`)).text();
  const bytes = Number(/^process_resident_memory_bytes (\S+)$/m.exec(metrics)?.[1]);
  expect(bytes).toBeGreaterThan(0);
  return bytes;
}
