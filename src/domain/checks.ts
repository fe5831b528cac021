/** The health checks of the console and `tvs doctor` (decision D1.13). `readings.ts` reads the figures to check. */

import type { LogFigures } from "../store/evidence/log.ts";
import { formatDuration, isoTime } from "./clock.ts";
import { type CredentialIndex, listLastExpiries } from "./credentials.ts";
import { explainDeliveryError, type PartnerBacklog } from "./deliveries.ts";
import { checkpointDelayOf, formatLeafCount } from "./evidence/log.ts";
import { describeLosses, findNotableLosses, type LossTotals, maxLostPercent } from "./import/losses.ts";
import type { KeyRing } from "./keys.ts";
import type { EndpointFigures, QuotaFigures, ServiceReadings } from "./readings.ts";
import { rotationTimes } from "./rotation.ts";
import { describeLicensedCount, type TeacherCounts } from "./status.ts";

/** A finding about the service or its machine. `tvs doctor` shows every finding, the console those that are not `ok`. */
export type NamedFinding = {
  /** A stable code of the check, for scripts. */
  readonly name: string;
  /** `warn`: the checked part works, with a fault. `fail`: it does not work, and `tvs doctor` exits with 1. */
  readonly result: "ok" | "warn" | "fail";
  readonly found: string;
  /** The remedy, for the operator; null if the operator has nothing to do. */
  readonly advice: string | null;
  /** The command that helps, as words after `tvs`; null if no command helps. */
  readonly command: readonly string[] | null;
  /** True if callers or partners are affected already. The console shows urgent findings first. */
  readonly isUrgent: boolean;
};

/** A finding without the name of its check, which {@link nameChecks} adds. */
export type Finding = Omit<NamedFinding, "name">;
type More = { advice?: string | null; command?: readonly string[]; isUrgent?: boolean };

function found(result: NamedFinding["result"]) {
  return (text: string, more: string | More = {}): Finding => {
    const given: More = typeof more === "string" ? { advice: more } : more;
    return { result, found: text, advice: null, command: null, isUrgent: false, ...given };
  };
}

export const ok = found("ok");
export const warn = found("warn");
export const fail = found("fail");

/** Adds to each finding the name of its check. @param findings by the check's name, in the order of the report */
export function nameChecks(findings: Readonly<Record<string, Finding | readonly Finding[]>>): NamedFinding[] {
  return Object.entries(findings).flatMap(([name, one]) =>
    [one].flat().map((finding) => ({ name, ...finding })),
  );
}

/** The state that the checks evaluate, read as a whole at one time. */
export type HealthCheckInput = {
  readonly now: number;
  readonly readings: ServiceReadings;
  readonly keys: KeyRing;
  readonly credentials: CredentialIndex;
  /** True while webhooks are held after `tvs restore --hold-webhooks`. */
  readonly areWebhooksHeld: boolean;
};

/** A check warns if a partner has used this share of the day's quota. */
const nearlySpent = 0.9;
/** A delivery that has been due for longer than this is stuck, because the sender looks five times a second. */
const overdueMs = 5 * 60_000;
/** A check warns from `renewalMs` before a partner's last credential expires until `missedMs` after the expiry. */
const [renewalMs, missedMs] = [14 * 86_400_000, 7 * 86_400_000];

export function runHealthChecks(input: HealthCheckInput): NamedFinding[] {
  const { now, readings, keys, credentials, areWebhooksHeld } = input;
  const { teachers, appliedAt, imports, losses, endpoints, backlog, quotas, log } = readings;
  return nameChecks({
    "signing-keys": checkKeys(keys, now),
    "log-checkpoint": log === null ? [] : checkCheckpoint(log, now),
    register: checkTeachers(teachers, appliedAt),
    import: checkImport(imports[0], now),
    losses: checkLosses(losses),
    "webhooks-held": checkHeld(areWebhooksHeld),
    "webhook-endpoints": allOr(
      "no endpoint that should work fails",
      endpoints.flatMap((one) => checkEndpoint(one, now)),
    ),
    webhooks: allOr(
      "none is overdue, and none was given up",
      backlog.flatMap((one) => checkBacklog(one, now)),
    ),
    quotas: allOr("nobody's quota of today is nearly spent", quotas.flatMap(checkQuota)),
    credentials: allOr("no partner's last key or certificate is about to end", checkEnds(credentials, now)),
  });
}

function allOr(calm: string, findings: Finding[]): Finding[] {
  return findings.length === 0 ? [ok(calm)] : findings;
}

function checkKeys(keys: HealthCheckInput["keys"], now: number): Finding {
  const { dueAt, possibleAt, isDue, isPossible } = rotationTimes(keys, now);
  const from = isPossible ? "" : ` from ${isoTime(possibleAt)} on`;
  if (!isDue) return ok(`one active, one pending that may be promoted${from}`);
  const text = `the signing key has been due for rotation for ${formatDuration(now - dueAt)}`;
  return warn(isPossible ? text : `${text}, which is possible${from}`, { command: ["keys", "rotate"] });
}

function checkCheckpoint(figures: LogFigures, now: number): Finding {
  const { signedAt, signedSize, size, waiting } = figures;
  const late = checkpointDelayOf(figures, now);
  const signed =
    signedAt === null ? "none yet" : `${formatLeafCount(signedSize)}, signed at ${isoTime(signedAt)}`;
  if (late === null) return ok(signed);
  const left = size + waiting - signedSize;
  const advice =
    "start tvs serve, which makes one every 30 s, or look in its log why it cannot; tvs log checkpoint makes one now";
  const found = `${signed}; ${left} more wait for one, for ${formatDuration(late)}`;
  return warn(`the newest checkpoint of the evidence log is late: ${found}`, {
    advice,
    isUrgent: true,
  });
}

function checkTeachers(teachers: TeacherCounts, appliedAt: number | null): Finding {
  const applied =
    appliedAt === null ? "no extract was applied" : `the last extract was applied at ${isoTime(appliedAt)}`;
  const licensed = `${describeLicensedCount(teachers)}; ${applied}`;
  if (teachers.active > 0 && teachers.licensed === 0) {
    const advice =
      "everybody is answered as not licensed; look whether the extract has the licences' columns";
    const command = ["teachers", "import", "FILE", "--dry-run"];
    return warn(licensed, { advice, command, isUrgent: true });
  }
  if (teachers.total > 0) return ok(licensed);
  const advice = "run tvs teachers import; if there should be teachers, check --data";
  return warn(
    "the register is empty: lookups and checks are answered with 503 until an extract is applied",
    advice,
  );
}

function checkImport(last: ServiceReadings["imports"][number] | undefined, now: number): Finding {
  if (last === undefined || last.finishedAt !== null || last.abandonedAt !== null)
    return ok("none is unfinished");
  const since = formatDuration(now - last.startedAt);
  return warn(`the last import began ${since} ago and is not finished`, {
    advice: "if it was stopped, run the same command again",
    command: ["teachers", "import", "FILE"],
  });
}

/** Checks what all imports of 24 hours removed together, because each import can stay below the limit of one import. */
function checkLosses(losses: LossTotals): Finding {
  const noted = findNotableLosses(losses);
  if (noted.length === 0) return ok("imports have taken away little or nothing within 24 hours");
  const found = `imports have taken away ${describeLosses(noted)} within 24 hours`;
  const advice = `look at the extracts: beyond ${maxLostPercent} % the next import stops, unless --allow-change is given`;
  return warn(found, { advice, command: ["changes"], isUrgent: true });
}

function checkHeld(areHeld: boolean): Finding {
  if (!areHeld) return ok("no webhooks are held");
  return warn("no webhook has been sent since the restore with --hold-webhooks", {
    advice: "look at tvs webhooks list --state pending, then release them",
    command: ["webhooks", "release"],
  });
}

function checkEndpoint({ partnerId, disabledReason, failingSince, lastError }: EndpointFigures, now: number) {
  const advice = lastError === null ? null : `last error: ${lastError}. ${explainDeliveryError(lastError)}`;
  if (disabledReason === "operator") return [];
  if (disabledReason !== null) {
    const cause = disabledReason === "gone" ? "it answered 410 Gone" : "it failed for five days";
    const found = `nothing is sent to ${partnerId}: its endpoint was disabled, because ${cause}`;
    const command = ["partners", "webhook", "enable", partnerId];
    return [warn(found, { advice, command, isUrgent: true })];
  }
  if (failingSince === null) return [];
  const command = ["webhooks", "list", "--partner", partnerId, "--state", "pending"];
  const found = `the endpoint of ${partnerId} has failed for ${formatDuration(now - failingSince)}`;
  return [warn(found, { advice, command })];
}

function checkBacklog({ partnerId, dead, heldBy, oldestDueAt }: PartnerBacklog, now: number): Finding[] {
  const checks: Finding[] = [];
  if (dead > 0) {
    const found =
      dead === 1
        ? `1 delivery to ${partnerId} was given up`
        : `${dead} deliveries to ${partnerId} were given up`;
    const command = ["webhooks", "retry", "--dead", "--partner", partnerId];
    checks.push(warn(found, { command }));
  }
  if (heldBy === null && oldestDueAt !== null && now - oldestDueAt > overdueMs) {
    const found = `a delivery to ${partnerId} has been due for ${formatDuration(now - oldestDueAt)} and was not sent`;
    const command = ["webhooks", "list", "--partner", partnerId];
    checks.push(warn(found, { command }));
  }
  return checks;
}

function checkQuota({ partner, use }: QuotaFigures): Finding[] {
  const { used, limit } = use.day;
  const { partnerId, disabledAt } = partner;
  if (disabledAt !== null || limit === 0 || used < limit * nearlySpent) return [];
  const found = `partner ${partnerId} has used ${Math.round((100 * used) / limit)} % of today's quota (UTC)`;
  const command = ["partners", "set", partnerId, "--per-day", String(limit * 2)];
  return [warn(found, { command, isUrgent: used >= limit })];
}

function checkEnds(credentials: CredentialIndex, now: number): Finding[] {
  return listLastExpiries(credentials)
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
      return warn(found, more);
    });
}
