import { join } from "node:path";
import { openConnection } from "../../src/store/driver/connection.ts";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { startService } from "../harness/program.ts";
import { addPartner, importTeachers } from "./register.ts";

/**
 * Kills a serving process with SIGKILL again and again while callers wait for answers, and then compares
 * what the callers hold with what the database says. Run alone: `bun test/faults/kill.ts KILLS THREADS`.
 */
export type Findings = {
  readonly kills: number;
  readonly answered: number;
  readonly replayed: number;
  readonly interrupted: number;
  /** Everything here must be zero. */
  readonly answeredWithoutAttestation: number;
  readonly keysThatRanTwice: number;
  readonly replaysThatDiffer: number;
  readonly quotaExceeded: number;
  readonly answersNotCounted: number;
  readonly integrity: string;
};

const teachers = 200;
const callers = 16;
/** A partner whose minute quota is small enough to be reached, so that going over it would show. */
const smallPerMinute = 25;

type Answer = { verificationId: string; signature: string };
type Load = {
  url: string;
  stopped: boolean;
  interrupted: number;
  replayed: number;
  replaysThatDiffer: number;
  answers: Answer[];
  bodies: Map<string, string>;
  /** Answered calls of the small partner by the window that their headers named. */
  smallAnswers: Map<number, number>;
};

export function killRepeatedly(kills: number, threads: number): Promise<Findings> {
  return withTempDir(async (dataDir) => {
    const start = () => startService({ dataDir, args: ["--threads", String(threads)] });
    const [bigKey, smallKey] = await prepare(dataDir);
    const load: Load = {
      url: "",
      stopped: false,
      interrupted: 0,
      replayed: 0,
      replaysThatDiffer: 0,
      answers: [],
      bodies: new Map(),
      smallAnswers: new Map(),
    };
    let service = await start();
    load.url = service.url;
    const running = Array.from({ length: callers }, (_, n) =>
      callRepeatedly(load, n === 0 ? smallKey : bigKey, n),
    );
    for (let kill = 0; kill < kills; kill++) {
      await answersAndReplays(load);
      await sleep(100 + Math.random() * 300);
      await service.stop("SIGKILL");
      service = await start();
      load.url = service.url;
    }
    load.stopped = true;
    await Promise.all(running);
    await service.stop();
    return compare(dataDir, load, kills);
  });
}

/** Until the service has answered and replayed since its last start: a kill before that would show nothing. */
async function answersAndReplays(load: Load): Promise<void> {
  const { answers, replayed } = load;
  const before = answers.length;
  while (load.answers.length < before + callers || load.replayed === replayed) {
    await sleep(5);
  }
}

async function prepare(dataDir: string): Promise<[string, string]> {
  await importTeachers(dataDir, teachers);
  return [await addPartner(dataDir, "big", 100_000_000), await addPartner(dataDir, "small", smallPerMinute)];
}

async function callRepeatedly(load: Load, apiKey: string, caller: number): Promise<void> {
  const isSmall = caller === 0;
  for (let n = 0; !load.stopped; n++) {
    // Every third call repeats an earlier key of the same caller: it may have been cut off by a kill.
    const key = `${caller}-${n % 3 === 2 ? n - 2 : n}`;
    await call(load, { apiKey, key, isSmall }).catch(() => {
      load.interrupted++;
      return sleep(5);
    });
  }
}

async function call(
  load: Load,
  { apiKey, key, isSmall }: { apiKey: string; key: string; isSmall: boolean },
): Promise<void> {
  const question = {
    identifier: { tId: 1 + ((key.length * 31 + Number(key.split("-")[1])) % teachers) },
    purpose: "SCHOOL_EMPLOYMENT_VERIFICATION",
    context: { correlationId: key },
  };
  const response = await fetch(`${load.url}/v1/inter-agency/eligibility-check`, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}`, "Idempotency-Key": key },
    body: JSON.stringify(question),
  });
  const body = await response.text();
  if (response.status === 429) {
    await sleep(20);
    return;
  }
  if (response.status !== 200) throw new Error(`status ${response.status}: ${body}`);
  remember(load, { key, body, response, isSmall });
}

function remember(
  load: Load,
  { key, body, response, isSmall }: { key: string; body: string; response: Response; isSmall: boolean },
): void {
  const replayed = response.headers.has("Idempotent-Replayed");
  const before = load.bodies.get(key);
  if (before !== undefined && before !== body) load.replaysThatDiffer++;
  load.bodies.set(key, body);
  if (replayed) load.replayed++;
  load.answers.push(JSON.parse(body) as Answer);
  if (!isSmall) return;
  const window = Number(response.headers.get("X-RateLimit-Reset"));
  load.smallAnswers.set(window, (load.smallAnswers.get(window) ?? 0) + 1);
}

async function compare(dataDir: string, load: Load, kills: number): Promise<Findings> {
  const db = await openConnection(join(dataDir, "tvs.db"));
  const stored = new Map(
    db.all("SELECT verification_id AS id, jws FROM attestations").map((row) => [row.id, row.jws]),
  );
  const twice = db.all("SELECT context FROM attestations GROUP BY partner_id, context HAVING count(*) > 1");
  const windows = db.all(
    "SELECT starts_at, used FROM quota_windows WHERE partner_id = 'small' AND kind = 'minute'",
  );
  const usedUntil = new Map(windows.map((row) => [Number(row.starts_at) / 1000 + 60, Number(row.used)]));
  const [check] = db.all("PRAGMA integrity_check");
  db.close();
  return {
    kills,
    answered: load.answers.length,
    replayed: load.replayed,
    interrupted: load.interrupted,
    answeredWithoutAttestation: load.answers.filter((one) => stored.get(one.verificationId) !== one.signature)
      .length,
    keysThatRanTwice: twice.length,
    replaysThatDiffer: load.replaysThatDiffer,
    quotaExceeded: [...load.smallAnswers.values()].filter((answers) => answers > smallPerMinute).length,
    answersNotCounted: [...load.smallAnswers].filter(
      ([reset, answers]) => (usedUntil.get(reset) ?? 0) < answers,
    ).length,
    integrity: String(check?.integrity_check),
  };
}

if (import.meta.main) {
  const [kills = "50", threads = "2"] = process.argv.slice(2);
  const findings = await killRepeatedly(Number(kills), Number(threads));
  process.stdout.write(`${JSON.stringify(findings, null, 2)}\n`);
}
