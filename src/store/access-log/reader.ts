import { constants, existsSync } from "node:fs";
import { type Call, type CallFilter, type CallKind, callKinds } from "../../domain/calls.ts";
import { timeOfUuid } from "../../domain/clock.ts";
import { TvsError } from "../../domain/errors.ts";
import { dayOf, listCallFiles, openCallFile } from "./files.ts";

/** Calls that were found, newest first, and how many of the same time could not be written. */
export type FoundCalls = { readonly calls: readonly Call[]; readonly dropped: number };

/** A call, or how many are missing before the next one. */
type Line = Call | Drop;
type Drop = { readonly at: number; readonly dropped: number };

/** A call stands in the log when it is answered, so one of a time may stand this far behind it. */
const disorderMs = 10 * 60_000;

/**
 * Reads an access log, while a service may write it. None is made.
 * @throws TvsError INPUT_UNREADABLE where there is none, or it cannot be read
 */
export async function readCalls(folder: string, filter: CallFilter): Promise<FoundCalls> {
  if (!existsSync(folder)) {
    const message = `there is no access log at ${folder}: \`tvs serve\` begins one with --access-log, or where \`tvs init\` was told so`;
    throw new TvsError("INPUT_UNREADABLE", message);
  }
  const kinds = filter.partnerId === undefined ? callKinds : (["partners"] as const);
  const lines = await Promise.all(kinds.map((kind) => newestOf(folder, kind, filter))).catch((cause) => {
    const message = `the access log at ${folder} cannot be read; check its owner and mode`;
    throw new TvsError("INPUT_UNREADABLE", message, { detail: String(cause), cause });
  });
  const found = lines.flat();
  const calls = found
    .filter((line): line is Call => !("dropped" in line))
    .sort((one, other) => (one.requestId < other.requestId ? 1 : -1))
    .slice(0, filter.limit);
  const oldest = calls.length < filter.limit ? undefined : calls.at(-1);
  // Where the list ends before it has reached its first time, what is missing further back is not its business.
  const from = oldest === undefined ? 0 : timeOf(oldest);
  const drops = found.filter((line): line is Drop => "dropped" in line && line.at >= from);
  return { calls, dropped: drops.reduce((sum, { dropped }) => sum + dropped, 0) };
}

/** The newest calls of a kind that fit, and the drops in between. */
async function newestOf(folder: string, kind: CallKind, filter: CallFilter): Promise<Line[]> {
  const { requestId, partnerId, statuses = { first: 0, last: 999 }, since = 0, limit } = filter;
  // Most lines are not wanted; to look into each would cost ten times as much.
  const needle = requestId ?? (partnerId === undefined ? "" : `"partnerId":${JSON.stringify(partnerId)}`);
  const found: Line[] = [];
  let calls = 0;
  for (const { path, day } of (await listCallFiles(folder, kind)).reverse()) {
    if (day < dayOf(since)) break;
    for (const text of (await linesOf(path)).reverse()) {
      if (!text.includes(needle) && !text.includes('"dropped":')) continue;
      const line = parseLine(text);
      if (line === null || timeOf(line) < since) {
        if (line !== null && timeOf(line) < since - disorderMs) return found;
        continue;
      }
      if (!("dropped" in line)) {
        if (line.status < statuses.first || line.status > statuses.last) continue;
        if (line.partnerId !== (partnerId ?? line.partnerId)) continue;
        if (line.requestId !== (requestId ?? line.requestId)) continue;
        calls++;
      }
      found.push(line);
      if (calls === limit) return found;
    }
  }
  return found;
}

async function linesOf(path: string): Promise<string[]> {
  const file = await openCallFile(path, constants.O_RDONLY).catch((error) => {
    // The service has deleted it since it was listed.
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (file === null) return [];
  return (await file.readFile("utf8").finally(() => file.close())).split("\n");
}

function timeOf(line: Line): number {
  return "dropped" in line ? line.at : (timeOfUuid(line.requestId) ?? 0);
}

/** @returns null for what is no line of ours: a torn one, because the service was killed while it wrote it */
function parseLine(text: string): Line | null {
  try {
    const line = JSON.parse(text) as Partial<Call> & { time?: string; dropped?: number };
    if (Number.isSafeInteger(line.dropped))
      return { at: Date.parse(line.time ?? ""), dropped: line.dropped ?? 0 };
    const { requestId, route, method, status, ms, partnerId, keyId, error, replayed } = line;
    const texts = [requestId, route, method, partnerId ?? "", keyId ?? "", error ?? ""];
    const isOurs = texts.every((one) => typeof one === "string") && typeof ms === "number";
    if (!isOurs || timeOfUuid(requestId ?? "") === null || !Number.isSafeInteger(status)) return null;
    return { requestId, route, method, status, ms, partnerId, keyId, error, replayed } as Call;
  } catch {
    return null;
  }
}
