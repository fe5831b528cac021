/** One partner with its teachers: its random calls, and their history, which is checked apart from other partners. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { currentWindowStarts } from "../../src/domain/quota-windows.ts";
import type { EligibilityResult } from "../../src/partner/contract.ts";
import { checkLinearizability, type RecordedCall } from "./linearizability.ts";
import type { Call, ObservedAnswer, PartnerState, QuotaAccount, Windows } from "./partner-model.ts";
import { partnerModel } from "./partner-model.ts";

export const purpose = "SCHOOL_EMPLOYMENT_VERIFICATION";

/** Idempotency keys that calls share. */
const sharedKeys = ["k1", "k2", "k3", "k4"];

export type PartnerHistory = {
  readonly partnerId: string;
  readonly batchCost: "call" | "item";
  readonly apiKeys: readonly { readonly text: string; readonly keyId: string }[];
  /** The teacher ids, by index. No other partner asks about these teachers. */
  readonly tIds: readonly number[];
  readonly asked: Asked[];
  readonly changes: RecordedCall<Call>[];
  /** The body of each idempotency key, which most later calls with the key repeat. */
  readonly bodies: Map<string, Pick<PlannedRequest, "teachers" | "body">>;
  readonly initial: PartnerState;
  /** The state that the operator knows. */
  now: PartnerState;
};

export type PlannedRequest = {
  readonly operation: "eligibility-check" | "batch";
  readonly apiKey: string;
  readonly keyId: string;
  readonly idempotencyKey: string | undefined;
  readonly teachers: readonly number[];
  readonly body: unknown;
};

export type CallReply = {
  readonly status: number;
  readonly body: string;
  header(name: string): string | null;
};

type Asked = {
  readonly ask: PlannedRequest;
  readonly begin: number;
  readonly cameFrom: number;
  cameUntil: number;
  end: number;
  reply: CallReply | null;
  /** Whether its rate-limit headers are those of its own commit. */
  isExact: boolean;
};

/** Numbers the beginnings and ends of calls, in the order in which this process sees them. */
export type Ticks = () => number;

export function drawPlannedRequest(
  { apiKeys, tIds, bodies, now }: PartnerHistory,
  random: (below: number) => number,
): PlannedRequest {
  const one = <T>(list: readonly T[]) => list[random(list.length)] as T;
  const operation = random(4) === 0 ? "batch" : "eligibility-check";
  const isLive = ({ keyId }: PartnerHistory["apiKeys"][number]) => !now.revokedKeys.includes(keyId);
  const { text: apiKey, keyId } = one(random(10) === 0 ? apiKeys : apiKeys.filter(isLive));
  const idempotencyKey = random(3) === 0 ? one(sharedKeys) : undefined;
  const length = operation === "batch" ? 2 + random(3) : 1;
  const teachers = Array.from({ length }, () => random(tIds.length));
  const questions = teachers.map((n) => ({ identifier: { tId: tIds[n] }, purpose }));
  const isWrong = random(25) === 0;
  const body = operation === "batch" ? { items: questions } : questions[0];
  const drawn = { teachers, body: isWrong ? {} : body };
  const ask = { operation, apiKey, keyId, idempotencyKey } as const;
  if (idempotencyKey === undefined || isWrong) return { ...ask, ...drawn };
  const name = `${operation} ${idempotencyKey}`;
  const known = bodies.get(name);
  if (known === undefined) bodies.set(name, drawn);
  return { ...ask, ...(known === undefined || random(8) === 0 ? drawn : known) };
}

/** Records the beginning of a call. @returns the function that records its reply, null for a lost one */
export function recordCallStart(
  part: PartnerHistory,
  ask: PlannedRequest,
  { tick, now }: { tick: Ticks; now(): number },
): (reply: CallReply | null, isExact?: boolean) => void {
  const cameFrom = now();
  const asked: Asked = {
    ...{ ask, cameFrom, cameUntil: cameFrom, begin: tick(), end: Number.POSITIVE_INFINITY },
    ...{ reply: null, isExact: true },
  };
  part.asked.push(asked);
  return (reply, isExact = true) => {
    Object.assign(asked, { cameUntil: now(), reply, isExact });
    if (reply !== null) asked.end = tick();
  };
}

/** @returns null if one order explains the partner's replies, else a description of the calls that do not fit */
export function describeUnexplainedCalls(part: PartnerHistory): string | null {
  const history = historyOf(part);
  const stuck = checkLinearizability(history, partnerModel(part.initial));
  if (stuck === null) return null;
  const inWords = (value: unknown) =>
    JSON.stringify(value, (_, member) => (member instanceof Map ? [...member] : member));
  const next = stuck.next.map((call) => `\n  ${inWords(call)}`).join("");
  const words = `${part.partnerId}: none of these can follow after ${stuck.placed} of ${history.length} calls:${next}`;
  return `${words}\nin the state ${inWords(stuck.state)}`;
}

function historyOf({ asked, changes, batchCost }: PartnerHistory): RecordedCall<Call>[] {
  const nameOf = ({ operation, idempotencyKey }: PlannedRequest) =>
    idempotencyKey === undefined ? null : `${operation} ${idempotencyKey}`;
  const costOf = ({ operation, teachers }: PlannedRequest) =>
    operation === "batch" && batchCost === "item" ? teachers.length : 1;
  const heardOf = ({ reply, isExact }: Asked) => (reply === null ? null : heardIn(reply, isExact));
  const heard = new Map(asked.map((one) => [one, heardOf(one)]));
  const replays = new Map(
    [...heard].flatMap(([{ ask }, one]) => (one?.isReplay ? [[nameOf(ask), one] as const] : [])),
  );
  const calls = asked.map((one): RecordedCall<Call> => {
    const { ask, begin, end, reply } = one;
    const key = nameOf(ask);
    const beside = asked.filter((other) => other !== one && other.begin < end && one.begin < other.end);
    return {
      ...{ begin, end },
      call: {
        what: `${ask.operation} of ${ask.teachers} by ${ask.keyId} key ${ask.idempotencyKey}`,
        keyId: ask.keyId,
        teachers: ask.teachers,
        key,
        body: JSON.stringify(ask.body),
        cost: costOf(ask),
        windows: windowsOf(one, reply),
        crowd: beside.reduce((sum, other) => sum + costOf(other.ask), 0),
        hasRival: key !== null && beside.some((other) => nameOf(other.ask) === key),
        heard: heard.get(one) ?? null,
        later: reply === null ? (replays.get(key) ?? null) : null,
      },
    };
  });
  return [...calls, ...changes];
}

/** The minute in the answer's headers. If it is missing or may be the day: all minutes in which the call may have arrived. */
function windowsOf({ cameFrom, cameUntil }: Asked, reply: CallReply | null): Windows[] {
  const reset = Number(reply?.header("X-RateLimit-Reset") ?? 0) * 1000;
  const isNamed = reply !== null && reset > 0 && reply.status !== 429;
  const [first, last] = isNamed ? [reset - 1, reset - 1] : [cameFrom, cameUntil];
  const windows: Windows[] = [];
  for (let at = currentWindowStarts(first).minute; at <= last; at += 60_000)
    windows.push({ minute: `minute ${at}`, day: `day ${currentWindowStarts(at).day}` });
  return windows;
}

type Envelope = { readonly signature: string; readonly signatureKid: string };

function heardIn(reply: CallReply, isExact: boolean): ObservedAnswer {
  const { status, body } = reply;
  const answer = status === 200 ? (JSON.parse(body) as Envelope | { results: Envelope[] }) : { results: [] };
  const envelopes = "results" in answer ? answer.results : [answer];
  return {
    status,
    body: createHash("sha256").update(body).digest("base64"),
    isReplay: reply.header("Idempotent-Replayed") === "true",
    signed: envelopes.map(({ signature }) => signedIn(signature)),
    kids: envelopes.map(({ signatureKid }) => signatureKid),
    account: isExact && status !== 429 ? accountIn(reply) : null,
  };
}

function signedIn(jws: string): string {
  const claims = JSON.parse(Buffer.from(jws.split(".")[1] ?? "", "base64url").toString());
  const { found, status, eligible, teacher, certificate } = claims.result as EligibilityResult;
  return found ? `${teacher?.name} ${status} ${certificate?.status} ${eligible}` : "nobody";
}

/** Reads the limits and the rest of both windows from the rate-limit headers. */
function accountIn({ header }: CallReply): QuotaAccount | null {
  const amountsIn = (field: string, member: string) => {
    const [minute, day] = ["minute", "day"].map((window) =>
      Number(new RegExp(`"${window}";${member}=(\\d+)`).exec(header(field) ?? "")?.[1]),
    ) as [number, number];
    return { minute, day };
  };
  if (header("RateLimit") === null) return null;
  return { limits: amountsIn("RateLimit-Policy", "q"), left: amountsIn("RateLimit", "r") };
}
