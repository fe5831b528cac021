import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Operator, openOperator } from "../../cli/open.ts";
import { readConfig } from "../../src/config.ts";
import { planWrite } from "../../src/domain/teachers/store.ts";
import { setWebhook } from "../../src/domain/webhooks.ts";
import { makeFolder } from "../harness/folder.ts";
import { type Service, startService } from "../harness/program.ts";
import { anApiKey, aPartner, aTeacher } from "../harness/samples.ts";
import { adminWords } from "./admin-port.ts";
import { type Program, serveWords } from "./programs.ts";

/** The runtime's compiler is at work for the first thousands of answers of a kind. */
export function warmUpSeconds({ isQuick }: { isQuick: boolean }): number {
  return isQuick ? 2 : 6;
}

/** Acts that are undone at the end of a benchmark, the last one first. */
export type Cleanup = (undo: () => unknown) => void;

export async function withCleanup<T>(act: (cleanup: Cleanup) => Promise<T>): Promise<T> {
  const undos: (() => unknown)[] = [];
  try {
    return await act((undo) => undos.push(undo));
  } finally {
    for (const undo of undos.reverse()) await undo();
  }
}

export async function folderUntilCleanup(cleanup: Cleanup): Promise<string> {
  const { path, remove } = await makeFolder();
  cleanup(remove);
  return path;
}

export function dataDirIn(folder: string): string {
  return join(folder, "data");
}

/** The service as a process of its own, with no limit on public lookups that a load would meet. */
export async function serve(
  program: Program,
  { dataDir, cleanup }: { dataDir: string; cleanup: Cleanup },
): Promise<Service> {
  const limits = ["--allow-private-webhooks", "--public-per-minute", "100000000"];
  const args = [...limits, ...adminWords, ...serveWords(program)];
  const service = await startService({ dataDir, args, program: program.words });
  cleanup(() => service.stop());
  return service;
}

/** The stores over a data folder, in this process. */
export async function openStores(dataDir: string, cleanup: Cleanup): Promise<Operator> {
  const operator = await openOperator(readConfig({ data: dataDir }, {}), { whenMade: () => {} });
  cleanup(() => operator.driver.close());
  return operator;
}

/** A server of the benchmark's own, in a process of its own: `receiver.ts` or `empty.ts`, which say their port. */
export async function startServer(
  [source, ...words]: readonly [source: string, ...words: string[]],
  cleanup: Cleanup,
): Promise<{ url: string; pid: number }> {
  const file = fileURLToPath(new URL(source, import.meta.url));
  const child = Bun.spawn([process.execPath, file, ...words], { stdout: "pipe", stderr: "inherit" });
  cleanup(async () => {
    child.kill();
    await child.exited;
  });
  for await (const chunk of child.stdout)
    return { url: `http://127.0.0.1:${Number(new TextDecoder().decode(chunk))}`, pid: child.pid };
  throw new Error(`${source} did not start`);
}

/** Partners `hook-0`, `hook-1`, …, each with an endpoint. */
export async function subscribe(operator: Operator, urls: readonly string[]): Promise<void> {
  for (const [index, url] of urls.entries()) {
    const partnerId = `hook-${index}`;
    await operator.stores.partners.add(aPartner(partnerId), anApiKey(partnerId, `key-${index}`));
    await setWebhook(operator, { partnerId, url, check: async () => {} });
  }
}

const writesInCommit = 200;
let teachersMade = 0;

/** New teachers, each of whom is one event for every endpoint. */
export async function makeEvents({ stores: { teachers }, calendar }: Operator, count: number): Promise<void> {
  for (let made = 0; made < count; made += writesInCommit) {
    const length = Math.min(writesInCommit, count - made);
    const changes = { certificateStatus: "NOT_FOUND" } as const;
    const write = () =>
      planWrite(null, aTeacher(`TR/2021/KN/${++teachersMade}`, changes), {
        action: "import",
        actor: "bench",
        calendar,
        at: Date.now(),
      });
    await teachers.apply(Array.from({ length }, write));
  }
}

/** The sender looks every 200 ms whether it is held; after so long it knows. */
export const noticeMs = 400;

/** Holds all webhooks back, as a restored database does, or lets them go. */
export function hold({ stores: { settings } }: Operator, isHeld: boolean): Promise<void> {
  return settings.write({ hold_webhooks: String(isHeld) });
}
