/** What of the register and its service is as it should be: each thing is judged here, once, from the readings. */

import type { LogFigures } from "../store/evidence/log.ts";
import { describeSpan, isoTime } from "./clock.ts";
import { type CredentialIndex, credentialEnds } from "./credentials.ts";
import type { PartnerBacklog } from "./deliveries.ts";
import { checkpointLateness, countLeaves } from "./evidence/log.ts";
import { describeLosses, type Losses, maxLostPercent, notedLosses } from "./import/losses.ts";
import type { KeyRing } from "./keys.ts";
import type { EndpointReading, QuotaReading, Readings } from "./readings.ts";
import { rotationOf } from "./rotation.ts";
import { describeLicensed, type TeacherCounts } from "./status.ts";

/** A finding about the service or the machine under it: `tvs doctor` shows all of them, the console what is not well. */
export type Check = {
  /** Stable, for scripts. */
  readonly name: string;
  /** `warn` works, but not as it should; `fail` does not work, and is doctor's exit code. */
  readonly result: "ok" | "warn" | "fail";
  readonly found: string;
  /** What to do, or what could be done; null when there is nothing to say. */
  readonly advice: string | null;
  /** The words of the command that does it or shows more, behind `tvs`; null where none does. */
  readonly command: readonly string[] | null;
  /** Somebody outside is affected already, so that it comes first where a service is watched. */
  readonly isUrgent: boolean;
};

type More = { advice?: string | null; command?: readonly string[]; isUrgent?: boolean };

function found(result: Check["result"]) {
  return (name: string, text: string, more: string | More = {}): Check => {
    const {
      advice = null,
      command = null,
      isUrgent = false,
    } = typeof more === "string" ? { advice: more } : more;
    return { name, result, found: text, advice, command, isUrgent };
  };
}

/** Nothing is wrong; with advice, something could be better. */
export const ok = found("ok");
export const warn = found("warn");
export const fail = found("fail");

/** The findings of one check, for who makes no other. */
export function checkNamed(name: string) {
  const named = (make: typeof ok) => (text: string, more?: string | More) => make(name, text, more);
  return { ok: named(ok), warn: named(warn), fail: named(fail) };
}

/** What is judged, all of it as it was at one time. */
export type Judged = {
  readonly now: number;
  readonly readings: Readings;
  readonly keys: KeyRing;
  readonly credentials: CredentialIndex;
  /** Whether the database was restored with `--hold-webhooks`, and nobody has released them. */
  readonly areWebhooksHeld: boolean;
  /** A sentence for the code of a failed delivery, such as `BAD_STATUS 503`. */
  readonly explainError: (lastError: string) => string;
};

/** From this share of a quota on, its partner is about to be refused. */
const nearlySpent = 0.9;
/** A delivery that is due for so long shows that something is stuck: the sender looks five times a second. */
const overdueMs = 5 * 60_000;
/** A partner needs so long to get a new certificate; whom one was missing for a week calls in another way. */
const [renewalMs, missedMs] = [14 * 86_400_000, 7 * 86_400_000];

/** Everything that the database tells, whoever asks. */
export function judge(judged: Judged): Check[] {
  const { now, readings, keys, credentials, areWebhooksHeld, explainError } = judged;
  const { teachers, appliedAt, imports, losses, endpoints, backlog, quotas, log } = readings;
  return [
    judgeKeys(keys, now),
    ...(log === null ? [] : [judgeCheckpoint(log, now)]),
    judgeTeachers(teachers, appliedAt),
    judgeImport(imports[0], now),
    judgeLosses(losses),
    judgeHeld(areWebhooksHeld),
    ...allOr(
      ok("webhook-endpoints", "no endpoint that should work fails"),
      endpoints.flatMap((one) => judgeEndpoint(one, now, explainError)),
    ),
    ...allOr(
      ok("webhooks", "none is overdue, and none was given up"),
      backlog.flatMap((one) => judgeBacklog(one, now)),
    ),
    ...allOr(ok("quotas", "nobody's quota of today is nearly spent"), quotas.flatMap(judgeQuota)),
    ...allOr(
      ok("credentials", "no partner's last key or certificate is about to end"),
      judgeEnds(credentials, now),
    ),
  ];
}

/** The findings; where there is none, that nothing was found. */
function allOr(calm: Check, findings: Check[]): Check[] {
  return findings.length === 0 ? [calm] : findings;
}

function judgeKeys(keys: Judged["keys"], now: number): Check {
  const name = "signing-keys";
  const { dueAt, possibleAt, isDue, isPossible } = rotationOf(keys, now);
  // A new pending key is as it should be: a warning that asks for nothing would teach to overlook warnings.
  const from = isPossible ? "" : ` from ${isoTime(possibleAt)} on`;
  if (!isDue) return ok(name, `one active, one pending that may be promoted${from}`);
  const text = `the signing key has been due for rotation for ${describeSpan(now - dueAt)}`;
  return warn(name, isPossible ? text : `${text}, which is possible${from}`, { command: ["keys", "rotate"] });
}

/** @param now in milliseconds since the epoch */
function judgeCheckpoint(figures: LogFigures, now: number): Check {
  const name = "log-checkpoint";
  const { signedAt, signedSize, size, waiting } = figures;
  const late = checkpointLateness(figures, now);
  const signed =
    signedAt === null ? "none yet" : `${countLeaves(signedSize)}, signed at ${isoTime(signedAt)}`;
  if (late === null) return ok(name, signed);
  const left = size + waiting - signedSize;
  const advice =
    "start tvs serve, which makes one every 30 s, or look in its log why it cannot; tvs log checkpoint makes one now";
  const found = `${signed}; ${left} more wait for one, for ${describeSpan(late)}`;
  return warn(name, `the newest checkpoint of the evidence log is late: ${found}`, {
    advice,
    isUrgent: true,
  });
}

function judgeTeachers(teachers: TeacherCounts, appliedAt: number | null): Check {
  const name = "register";
  const applied =
    appliedAt === null ? "no extract was applied" : `the last extract was applied at ${isoTime(appliedAt)}`;
  const licensed = `${describeLicensed(teachers)}; ${applied}`;
  if (teachers.active > 0 && teachers.licensed === 0) {
    const advice =
      "everybody is answered as not licensed; look whether the extract has the licences' columns";
    const command = ["teachers", "import", "FILE", "--dry-run"];
    return warn(name, licensed, { advice, command, isUrgent: true });
  }
  if (teachers.total > 0) return ok(name, licensed);
  const advice = "run tvs teachers import; if there should be teachers, check --data";
  return warn(
    name,
    "the register is empty: lookups and checks are answered with 503 until an extract is applied",
    advice,
  );
}

function judgeImport(last: Readings["imports"][number] | undefined, now: number): Check {
  const name = "import";
  if (last === undefined || last.finishedAt !== null || last.abandonedAt !== null)
    return ok(name, "none is unfinished");
  const since = describeSpan(now - last.startedAt);
  return warn(name, `the last import began ${since} ago and is not finished`, {
    advice: "if it was stopped, run the same command again",
    command: ["teachers", "import", "FILE"],
  });
}

/** Judges what imports took away within a day: a little each time passes the brake, and much in the end. */
function judgeLosses(losses: Losses): Check {
  const name = "losses";
  const noted = notedLosses(losses);
  if (noted.length === 0) return ok(name, "imports have taken away little or nothing within 24 hours");
  const found = `imports have taken away ${describeLosses(noted)} within 24 hours`;
  const advice = `look at the extracts: beyond ${maxLostPercent} % the next import stops, unless --allow-change is given`;
  return warn(name, found, { advice, command: ["changes"], isUrgent: true });
}

function judgeHeld(areHeld: boolean): Check {
  const name = "webhooks-held";
  if (!areHeld) return ok(name, "no webhooks are held");
  return warn(name, "no webhook has been sent since the restore with --hold-webhooks", {
    advice: "look at tvs webhooks list --state pending, then release them",
    command: ["webhooks", "release"],
  });
}

function judgeEndpoint(
  { partnerId, disabledReason, failingSince, lastError }: EndpointReading,
  now: number,
  explainError: Judged["explainError"],
): Check[] {
  const name = "webhook-endpoints";
  const advice = lastError === null ? null : `last error: ${lastError}. ${explainError(lastError)}`;
  if (disabledReason === "operator") return [];
  if (disabledReason !== null) {
    const cause = disabledReason === "gone" ? "it answered 410 Gone" : "it failed for five days";
    const found = `nothing is sent to ${partnerId}: its endpoint was disabled, because ${cause}`;
    const command = ["partners", "webhook", "enable", partnerId];
    return [warn(name, found, { advice, command, isUrgent: true })];
  }
  if (failingSince === null) return [];
  const command = ["webhooks", "list", "--partner", partnerId, "--state", "pending"];
  const found = `the endpoint of ${partnerId} has failed for ${describeSpan(now - failingSince)}`;
  return [warn(name, found, { advice, command })];
}

function judgeBacklog({ partnerId, dead, heldBy, oldestDueAt }: PartnerBacklog, now: number): Check[] {
  const name = "webhooks";
  const checks: Check[] = [];
  if (dead > 0) {
    const found =
      dead === 1
        ? `1 delivery to ${partnerId} was given up`
        : `${dead} deliveries to ${partnerId} were given up`;
    const command = ["webhooks", "retry", "--dead", "--partner", partnerId];
    checks.push(warn(name, found, { command }));
  }
  if (heldBy === null && oldestDueAt !== null && now - oldestDueAt > overdueMs) {
    const found = `a delivery to ${partnerId} has been due for ${describeSpan(now - oldestDueAt)} and was not sent`;
    const command = ["webhooks", "list", "--partner", partnerId];
    checks.push(warn(name, found, { command }));
  }
  return checks;
}

function judgeQuota({ partner, use }: QuotaReading): Check[] {
  const { used, limit } = use.day;
  const { partnerId, disabledAt } = partner;
  if (disabledAt !== null || limit === 0 || used < limit * nearlySpent) return [];
  const found = `partner ${partnerId} has used ${Math.round((100 * used) / limit)} % of today's quota (UTC)`;
  const command = ["partners", "set", partnerId, "--per-day", String(limit * 2)];
  return [warn("quotas", found, { command, isUrgent: used >= limit })];
}

function judgeEnds(credentials: CredentialIndex, now: number): Check[] {
  return credentialEnds(credentials)
    .filter(({ endsAt }) => endsAt - now < renewalMs && now - endsAt < missedMs)
    .map(({ partnerId, kind, endsAt }) => {
      const found = `the last ${kind} of ${partnerId} ${endsAt > now ? "ends" : "ended"} at ${isoTime(endsAt)}`;
      const more =
        kind === "key"
          ? { command: ["partners", "key", "issue", partnerId] }
          : {
              advice: "ask the partner for its new one",
              command: ["partners", "cert", "add", partnerId, "FILE"],
            };
      return warn("credentials", found, more);
    });
}
