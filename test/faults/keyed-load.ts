/** Calls a failing service with idempotency keys that are repeated, and compares the answers with the database. */
import type { Driver } from "../../src/store/driver/driver.ts";
import { sleep } from "../harness/eventually.ts";
import { addPartner, importTeachers, type Register } from "./register.ts";

type Callers = {
  readonly apiKey: string;
  readonly partnerId: string;
  readonly count: number;
  /** A quota that the callers reach, so that an answer beyond it is noticed; null if they do not reach theirs. */
  readonly perMinute: number | null;
};

type Answer = {
  readonly isReplay: boolean;
  readonly verificationId: string;
  readonly signature: string;
};

export type KeyedLoad = ReturnType<typeof startLoad>;

type Held = {
  readonly answers: Answer[];
  /** The errors of calls that were neither answered nor refused because of their quota. */
  readonly failures: string[];
  replaysThatDiffer: number;
  readonly bodies: Map<string, string>;
  /** The number of answered calls, by the end of the quota window that their headers named, in seconds. */
  readonly windows: Map<Callers, Map<number, number>>;
};

/** The number of teachers in the register. */
const teachers = 200;
const bigCallers = 15;
const smallPerMinute = 25;

/** Adds teachers and two partners to a register. The first never reaches its quota; the second, with one caller, does. */
export async function prepareCallers(register: Register): Promise<Callers[]> {
  await importTeachers(register, teachers);
  const big = await addPartner(register, "big", 100_000_000);
  const small = await addPartner(register, "small", smallPerMinute);
  return [
    { partnerId: "big", count: bigCallers, perMinute: null, apiKey: big },
    { partnerId: "small", count: 1, perMinute: smallPerMinute, apiKey: small },
  ];
}

/** Waits until the service has answered and replayed: a fault before that would test nothing. */
export async function untilReplayed({ answers }: KeyedLoad): Promise<void> {
  const before = answers.length;
  const isReplayed = () => answers.slice(before).some(({ isReplay }) => isReplay);
  while (answers.length < before + bigCallers || !isReplayed()) await sleep(5);
}

/** A call that takes longer counts as failed. */
const maxCallMs = 15_000;
/** The most verification ids in one query: a libSQL server limits the size of its reply. */
const lookedUp = 500;

export function startLoad(url: () => string, callers: readonly Callers[]) {
  const held: Held = {
    answers: [],
    failures: [],
    replaysThatDiffer: 0,
    bodies: new Map(),
    windows: new Map(callers.map((some) => [some, new Map()])),
  };
  let isOver = false;
  const running = callers.flatMap((some) =>
    Array.from({ length: some.count }, async (_, caller) => {
      for (let n = 0; !isOver; n++) {
        // Every third call repeats an earlier key of the same caller, whose call may have been cut off.
        const key = `${some.partnerId}-${caller}-${n % 3 === 2 ? n - 2 : n}`;
        const tId = 1 + ((caller * 31 + (n % 3 === 2 ? n - 2 : n)) % teachers);
        await call(held, { url: url(), callers: some, key, tId });
      }
    }),
  );
  return {
    ...held,
    async stop() {
      isOver = true;
      await Promise.all(running);
    },
    compare: (database: Driver) => compareAnswers(database, held),
  };
}

type Call = { readonly url: string; readonly callers: Callers; readonly key: string; readonly tId: number };

async function call(held: Held, { url, callers, key, tId }: Call): Promise<void> {
  try {
    const response = await askPartnerApi(url, callers.apiKey, { key, tId });
    const body = await response.text();
    if (response.status === 429) return await sleep(20);
    if (response.status !== 200) throw new Error(`status ${response.status}: ${body}`);
    remember(held, { callers, key, body, headers: response.headers });
  } catch (error) {
    held.failures.push(String(error));
    await sleep(5);
  }
}

export function askPartnerApi(
  url: string,
  apiKey: string,
  { key, tId = 1 }: { key?: string; tId?: number } = {},
): Promise<Response> {
  return fetch(`${url}/v1/inter-agency/eligibility-check`, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}`, ...(key && { "Idempotency-Key": key }) },
    body: JSON.stringify({
      identifier: { tId },
      purpose: "SCHOOL_EMPLOYMENT_VERIFICATION",
      ...(key && { context: { correlationId: key } }),
    }),
    signal: AbortSignal.timeout(maxCallMs),
  });
}

function remember(
  held: Held,
  { callers, key, body, headers }: { callers: Callers; key: string; body: string; headers: Headers },
): void {
  const before = held.bodies.get(key);
  if (before !== undefined && before !== body) held.replaysThatDiffer++;
  held.bodies.set(key, body);
  const { verificationId, signature } = JSON.parse(body) as Answer;
  held.answers.push({ isReplay: headers.has("Idempotent-Replayed"), verificationId, signature });
  const windows = held.windows.get(callers);
  const window = Number(headers.get("X-RateLimit-Reset"));
  windows?.set(window, (windows.get(window) ?? 0) + 1);
}

/** Counts broken promises by kind; each number must be 0. */
async function compareAnswers(database: Driver, held: Held) {
  const stored = await storedEnvelopes(database, held.answers);
  const twice = await database.query(
    "SELECT context FROM attestations WHERE context IS NOT NULL GROUP BY partner_id, context HAVING count(*) > 1",
  );
  const isUnknown = ({ verificationId, signature }: Answer) => stored.get(verificationId) !== signature;
  return {
    answeredWithoutAttestation: held.answers.filter(isUnknown).length,
    keysThatRanTwice: twice.length,
    replaysThatDiffer: held.replaysThatDiffer,
    ...(await compareQuotas(database, held)),
  };
}

async function storedEnvelopes(database: Driver, answers: readonly Answer[]): Promise<Map<string, string>> {
  const ids = [...new Set(answers.map(({ verificationId }) => verificationId))];
  const sql = `SELECT verification_id AS id, jws FROM attestations
    WHERE verification_id IN (SELECT value FROM json_each(?))`;
  const stored = new Map<string, string>();
  for (let first = 0; first < ids.length; first += lookedUp) {
    const rows = await database.query(sql, [JSON.stringify(ids.slice(first, first + lookedUp))]);
    for (const row of rows) stored.set(String(row.id), String(row.jws));
  }
  return stored;
}

async function compareQuotas(database: Driver, { windows }: Held) {
  let quotaExceeded = 0;
  let answersNotCounted = 0;
  for (const [{ partnerId, perMinute }, answered] of windows) {
    if (perMinute === null) continue;
    const sql = "SELECT starts_at, used FROM quota_windows WHERE partner_id = ? AND kind = 'minute'";
    const rows = await database.query(sql, [partnerId]);
    const used = new Map(rows.map((row) => [Number(row.starts_at) / 1000 + 60, Number(row.used)]));
    for (const [end, answers] of answered) {
      if (answers > perMinute) quotaExceeded++;
      if ((used.get(end) ?? 0) < answers) answersNotCounted++;
    }
  }
  return { quotaExceeded, answersNotCounted };
}
