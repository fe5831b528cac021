import { openWindows } from "../../src/domain/quota-windows.ts";
import type { Driver, Row, Statement } from "../../src/store/driver/driver.ts";
import type { TestClock } from "../harness/clock.ts";
import { expectedResult, type Question, signedResult, type TestOperator } from "./register-model.ts";
import type { Reply, SentCall } from "./servers.ts";

/** What came about in some interleavings, so that a test can see that they were not all peace and quiet. */
export type Tally = Record<
  "answered" | "batches" | "asSecond" | "replayed" | "refused" | "spent" | "notStored" | "gaveUp",
  number
>;

/** A call of an interleaving, and what came of it. */
export type Call = SentCall & {
  /** What it presents, the strongest first. */
  readonly presented: readonly { readonly partnerId: string; readonly keyId: string }[];
  /** Whose call it is: the strongest one's, until a commit or the reply says whose it was. */
  partnerId: string;
  readonly questions: readonly Question[];
  readonly minute: number;
  readonly startStep: number;
  /** What the commit said, when there was one. */
  stored?: {
    readonly jws: string[];
    readonly kid: string;
    readonly remaining: readonly number[];
    readonly cost: number;
  };
  reply?: Reply;
};

type Windows = ReadonlyMap<string, number>;

/** Looks at each commit as it happens, and at each answer, with the model beside it. */
export function createWitness(
  admin: Driver,
  {
    seed,
    clock,
    operator,
    partnerIds,
    tally,
  }: {
    seed: number;
    clock: TestClock;
    operator: TestOperator;
    partnerIds: readonly string[];
    tally: Tally;
  },
) {
  const { model } = operator;
  const calls = new Map<string, Call>();
  /** By idempotency key, what it was answered with: the call that ran, and its key. */
  const answered = new Map<string, { call: Call; kid: string }>();
  let lastId = 0;
  let windows: Windows = new Map();
  const nameOf = (call: Call) => `${call.partnerId} ${call.operation} ${call.idempotencyKey}`;

  /** Looks at everything that was committed, whatever the connection read before. */
  function look(sql: string, args: readonly string[] | readonly number[] = []): ReturnType<Driver["query"]> {
    admin.renew();
    return admin.query(sql, args);
  }

  function must(holds: boolean, what: string, about: unknown): void {
    if (!holds) throw new Error(`seed ${seed}: ${what}: ${JSON.stringify(about)}`);
  }

  async function readWindows(): Promise<Windows> {
    const sql = "SELECT partner_id, kind, starts_at, used FROM quota_windows WHERE partner_id IN (?, ?)";
    const rows = await look(sql, [...partnerIds]);
    return new Map(rows.map((row) => [`${row.partner_id} ${row.kind} ${row.starts_at}`, Number(row.used)]));
  }

  function checkWindows(now: Windows): void {
    for (const [name, used] of now) {
      if (used === windows.get(name)) continue;
      const [partnerId = "", kind] = name.split(" ");
      const partner = model.partners.get(partnerId);
      const limit = (kind === "minute" ? partner?.perMinute : partner?.perDay) ?? 0;
      must(used <= limit, `more was used than the quota of ${limit}`, [name, used]);
    }
    windows = now;
  }

  function checkRow(call: Call, row: Row, question: Question | undefined): void {
    const counts = call.presented.find(
      ({ partnerId, keyId }) =>
        model.partners.get(partnerId)?.disabledAt === null && !model.revokedKeys.has(keyId),
    );
    const isTheirs = counts?.partnerId === row.partner_id && counts?.keyId === row.credential;
    must(isTheirs, "another credential than the first valid one was answered", [row, counts]);
    call.partnerId = String(row.partner_id);
    const partner = model.partners.get(call.partnerId);
    const scope = call.operation === "batch" ? "batch" : "eligibility";
    must(partner?.scopes.includes(scope) === true, "a scope was missing", row);
    must(row.kid === model.activeKid, "another key than the active one signed", row);
    must(row.policy_version === model.policy.version, "another policy was applied", row);
    if (question === undefined) throw new Error(`seed ${seed}: an attestation that nobody asked for`);
    const expected = JSON.stringify(expectedResult(model, question, { seed, clock }));
    const signed = JSON.stringify(signedResult(String(row.jws)));
    must(signed === expected, "what was signed was no longer so", { signed, expected });
  }

  /** @param later tokens that the same commit charged after it had said what was used */
  function checkCall(call: Call, rows: readonly Row[], later: number): void {
    must(call.stored === undefined && call.reply === undefined, "a call was stored twice", call.requestId);
    must(rows.length === call.questions.length, "a call was stored in part", rows);
    for (const [place, row] of rows.entries()) checkRow(call, row, call.questions[place]);
    if (call.partnerId !== call.presented[0]?.partnerId) tally.asSecond++;
    const partner = model.partners.get(call.partnerId);
    const left = (kind: string, startsAt: number, limit = 0) =>
      Math.max(0, limit - (windows.get(`${call.partnerId} ${kind} ${startsAt}`) ?? 0));
    const day = openWindows(call.minute).day;
    const remaining = Math.min(
      left("minute", call.minute, partner?.perMinute),
      left("day", day, partner?.perDay),
    );
    const isItem = call.operation === "batch" && partner?.batchCost === "item";
    const kid = String(rows[0]?.kid);
    call.stored = {
      jws: rows.map((row) => String(row.jws)),
      kid,
      remaining: [remaining, remaining + later],
      cost: isItem ? rows.length : 1,
    };
    if (call.idempotencyKey === undefined) return;
    const before = answered.get(nameOf(call));
    const isGone = before !== undefined && model.compromisedAt.has(before.kid);
    must(before === undefined || isGone, "an idempotency key ran twice", [
      before?.call.requestId,
      call.requestId,
    ]);
    answered.set(nameOf(call), { call, kid });
  }

  function checkReplay(call: Call): void {
    const first = answered.get(nameOf(call));
    if (first === undefined) throw new Error(`seed ${seed}: a replay of nothing: ${call.requestId}`);
    const shutAt = model.compromisedAt.get(JSON.parse(call.reply?.body ?? "").signatureKid ?? first.kid);
    must(
      shutAt === undefined || shutAt > call.startStep,
      "an answer of a compromised key was replayed",
      call,
    );
    must(JSON.stringify(first.call.body) === JSON.stringify(call.body), "another body was replayed", call);
    if (first.call.reply !== undefined && shutAt === undefined)
      must(
        first.call.reply.body === call.reply?.body,
        "a replay differs from the first answer",
        call.requestId,
      );
    tally.replayed++;
  }

  function checkAnswer(call: Call, reply: Reply): void {
    if (reply.headers["Idempotent-Replayed"] === "true") {
      checkReplay(call);
      return;
    }
    const { stored } = call;
    if (stored === undefined) throw new Error(`seed ${seed}: ${call.requestId} was answered and not stored`);
    for (const jws of stored.jws) must(reply.body.includes(jws), "an answer without its signature", reply);
    const told = reply.headers["X-RateLimit-Remaining"];
    must(stored.remaining.includes(Number(told)), "the headers say what the commit did not", [
      told,
      stored.remaining,
    ]);
    tally[call.operation === "batch" ? "batches" : "answered"]++;
  }

  return {
    async begin() {
      lastId = Number((await look("SELECT coalesce(max(id), 0) AS id FROM attestations"))[0]?.id);
    },
    began: (call: Call) => void calls.set(call.requestId, call),
    async onCommit(statements: readonly Statement[]): Promise<void> {
      const withText = (...texts: string[]) =>
        statements.filter((one) => "sql" in one && texts.every((part) => one.sql.includes(part))).length;
      const paid = statements.flatMap((one) =>
        "sql" in one && one.sql.includes("AS holds") ? JSON.parse(String(one.args[0])) : [],
      );
      const later = paid.reduce((sum, [, , , calls]) => sum + calls, 0);
      checkWindows(await readWindows());
      const columns = "id, request_id, kid, policy_version, jws, partner_id, credential";
      const rows = await look(`SELECT ${columns} FROM attestations WHERE id > ? ORDER BY id`, [lastId]);
      const stored = Map.groupBy(rows, (row) => String(row.request_id));
      // Each call's first attestation asks whether the revision is still the same.
      tally.notStored += withText("INTO attestations", "FROM revision") - stored.size;
      for (const [requestId, some] of stored) {
        const call = calls.get(requestId);
        if (call === undefined) throw new Error(`seed ${seed}: an attestation of nobody's call`);
        checkCall(call, some, later);
      }
      lastId = Number(rows.at(-1)?.id ?? lastId);
    },
    ended(call: Call): void {
      const { reply } = call;
      if (reply === undefined) return;
      call.partnerId = reply.partnerId ?? call.partnerId;
      const isShutOut = call.presented.every(({ partnerId, keyId }) => {
        const shutAt = model.shutOutSince.get(partnerId) ?? model.shutOutSince.get(keyId);
        return shutAt !== undefined && shutAt < call.startStep;
      });
      if (isShutOut)
        must([401, 403, 429, 503].includes(reply.status), "who was shut out was answered", [
          call.requestId,
          reply,
        ]);
      if (reply.status === 200) {
        checkAnswer(call, reply);
        return;
      }
      must(call.stored === undefined, "what was refused was stored", [call.requestId, reply]);
      must([400, 401, 403, 409, 422, 429, 503].includes(reply.status), "an answer that is none", reply);
      tally[reply.status === 429 ? "spent" : reply.status === 503 ? "gaveUp" : "refused"]++;
    },
    async atTheEnd(all: readonly Call[]): Promise<void> {
      const days = new Map<string, number>();
      const minutes = new Map<string, { least: number; unsure: number }>();
      for (const call of all) {
        const day = `${call.partnerId} day ${openWindows(call.minute).day}`;
        const minute = `${call.partnerId} minute ${call.minute}`;
        days.set(day, (days.get(day) ?? 0) + (call.stored?.cost ?? 0));
        const sum = minutes.get(minute) ?? { least: 0, unsure: 0 };
        minutes.set(minute, sum);
        const isReplay = call.reply?.headers["Idempotent-Replayed"] === "true";
        const isPaid = isReplay || isPaidRefusal(call.reply);
        sum.least += call.stored?.cost ?? (isPaid ? 1 : 0);
        // One that failed is charged where it can be.
        if (call.reply?.status === 429 || call.reply?.status === 503) sum.unsure++;
      }
      for (const [name, used] of await readWindows()) {
        const sum = minutes.get(name) ?? { least: days.get(name) ?? -1, unsure: 0 };
        must(used >= sum.least && used <= sum.least + sum.unsure, "the windows do not add up", [
          name,
          used,
          sum,
        ]);
      }
    },
  };
}

/** A refusal past its scope, which costs the minute. */
function isPaidRefusal(reply: Reply | undefined): boolean {
  if (reply === undefined) return false;
  if (reply.status === 403) return !reply.body.includes("lacks the scope");
  return [400, 409, 422].includes(reply.status);
}
