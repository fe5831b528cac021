import { existsSync } from "node:fs";
import { type Call, type CallFilter, type CallKind, callKinds } from "../domain/calls.ts";
import { timeOfUuid } from "../domain/clock.ts";
import { TvsError } from "../domain/errors.ts";
import { type CallFile, dayOf, listCallFiles, openCallFile } from "./call-files.ts";

/** Calls that were found, and how many of the same time could not be written. */
type Found<T> = { readonly calls: T; readonly dropped: number };

/** The access log as commands and the console read it, while a service writes it. */
export type CallReader = {
  /** @param requestId a UUID of version 7, in lower case */
  find(requestId: string): Promise<Found<Call | null>>;
  /** Newest first. */
  list(filter: CallFilter): Promise<Found<Call[]>>;
  /** How many calls were answered from a time on (milliseconds since the epoch) and could not be written. */
  droppedSince(time: number): Promise<number>;
};

/** How much is read at a time: who answers calls beside it is not kept for longer than that takes. */
const blockBytes = 128 * 1024;
/** A call stands in the log when it is answered, so one of a time may stand this far behind it. */
const disorderMs = 10 * 60_000;
/** A drop is dated by when the log was written again: within a minute, unless the disk refused for longer. */
const droppedMs = 60_000;

/**
 * Opens an access log that is there; none is made. Each of its acts throws TvsError INPUT_UNREADABLE where a file cannot
 * be read.
 * @throws TvsError INPUT_UNREADABLE where there is none
 */
export function openCallReader(folder: string): CallReader {
  if (!existsSync(folder)) {
    const message = `there is no access log at ${folder}; \`tvs serve --access-log\` keeps one`;
    throw new TvsError("INPUT_UNREADABLE", message);
  }

  /** An act whose failures at the files are told in one line. */
  function readable<A, T>(act: (asked: A) => Promise<T>): (asked: A) => Promise<T> {
    return (asked) =>
      act(asked).catch((cause: unknown) => {
        if (cause instanceof TvsError) throw cause;
        const message = `the access log at ${folder} cannot be read; check its owner and mode`;
        throw new TvsError("INPUT_UNREADABLE", message, { detail: String(cause), cause });
      });
  }

  /** What stands in the files of a kind, newest first, from the days of two times and between them. */
  async function* linesOf(kind: CallKind, { from = 0, to, needle = "" }: Range): AsyncGenerator<Line> {
    const files = (await listCallFiles(folder, kind)).reverse();
    for (const file of files) {
      if (file.day < dayOf(from) || (to !== undefined && file.day > dayOf(to))) continue;
      for await (const block of blocksOf(file)) {
        // Most lines are not wanted; to look into each would cost ten times as much.
        const wanted = block.filter((text) => text.includes(needle) || text.includes(droppedMark));
        for (const line of wanted.map(parseLine)) if (line !== null) yield line;
      }
    }
  }

  /** The newest calls of a kind that fit, and the drops in between. */
  async function newestOf(kind: CallKind, filter: CallFilter): Promise<{ calls: Call[]; drops: Drop[] }> {
    const { partnerId, statuses = { first: 0, last: 999 }, since = 0, limit } = filter;
    const needle = partnerId === undefined ? "" : `"partnerId":${JSON.stringify(partnerId)}`;
    const [calls, drops]: [Call[], Drop[]] = [[], []];
    for await (const line of linesOf(kind, { from: since, needle })) {
      const at = timeOfLine(line);
      if (at < since - disorderMs || calls.length === limit) break;
      if (at < since) continue;
      if ("dropped" in line) drops.push(line);
      else if (
        line.status >= statuses.first &&
        line.status <= statuses.last &&
        (partnerId === undefined || line.partnerId === partnerId)
      )
        calls.push(line);
    }
    return { calls, drops };
  }

  return {
    find: readable(async (requestId) => {
      const at = timeOfUuid(requestId) ?? 0;
      const drops: Drop[] = [];
      for (const kind of callKinds)
        for await (const line of linesOf(kind, { from: at, to: at + disorderMs, needle: requestId })) {
          if ("dropped" in line) drops.push(line);
          else if (line.requestId === requestId) return { calls: line, dropped: 0 };
        }
      return { calls: null, dropped: sumFrom(drops, at - droppedMs) };
    }),
    list: readable(async (filter) => {
      const kinds = filter.partnerId === undefined ? callKinds : (["partners"] as const);
      const found = await Promise.all(kinds.map((kind) => newestOf(kind, filter)));
      const calls = found
        .flatMap((one) => one.calls)
        .sort(newestFirst)
        .slice(0, filter.limit);
      // Where the list ends before it has reached its first time, what is missing further back is not its business.
      const oldest = calls.length < filter.limit ? undefined : calls.at(-1);
      const from = oldest === undefined ? 0 : timeOfLine(oldest);
      return {
        calls,
        dropped: sumFrom(
          found.flatMap(({ drops }) => drops),
          from,
        ),
      };
    }),
    droppedSince: readable(async (time) => {
      const drops: Drop[] = [];
      for (const kind of callKinds)
        for await (const line of linesOf(kind, { from: time, needle: droppedMark }))
          if ("dropped" in line) drops.push(line);
      return sumFrom(drops, time);
    }),
  };
}

type Range = {
  readonly from?: number;
  readonly to?: number;
  /** A text without which a call's line is not wanted. */
  readonly needle?: string;
};

function timeOfLine(line: Line): number {
  return "dropped" in line ? line.at : (timeOfUuid(line.requestId) ?? 0);
}

function sumFrom(drops: readonly Drop[], from: number): number {
  return drops.reduce((sum, { at, dropped }) => sum + (at < from ? 0 : dropped), 0);
}

function newestFirst(one: Call, other: Call): number {
  return one.requestId < other.requestId ? 1 : -1;
}

/** The lines of a file from its end on, a block at a time, the last one first. */
async function* blocksOf({ path }: CallFile): AsyncGenerator<string[]> {
  const file = await openCallFile(path, "read").catch((error) => {
    // The service has deleted it since it was listed: it was too old.
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (file === null) return;
  try {
    /** The end of a line whose beginning is in the block before. */
    let rest: Uint8Array = new Uint8Array();
    for (let end = (await file.stat()).size; end > 0; end -= blockBytes) {
      const start = Math.max(0, end - blockBytes);
      const block = Buffer.alloc(end - start);
      await file.read(block, 0, block.length, start);
      const lineFeed = block.indexOf(10);
      // What goes on for longer than a block is no line of ours: it is left out, and its end with it.
      const first = start === 0 ? 0 : lineFeed < 0 ? block.length : lineFeed + 1;
      yield Buffer.concat([block.subarray(first), rest])
        .toString("utf8")
        .split("\n")
        .reverse();
      rest = lineFeed < 0 ? new Uint8Array() : Buffer.from(block.subarray(0, first));
    }
  } finally {
    await file.close();
  }
}

/** A call, or how many are missing before the next one. */
type Line = Call | Drop;
type Drop = { readonly at: number; readonly dropped: number };

const droppedMark = '"dropped":';

/** @returns null for what is no line of ours: a torn one, because the service was killed while it wrote it */
function parseLine(text: string): Line | null {
  try {
    const line = JSON.parse(text) as Partial<Call> & { time?: string; dropped?: number };
    const at = Date.parse(line.time ?? "");
    if (Number.isSafeInteger(line.dropped)) return { at, dropped: line.dropped ?? 0 };
    const { requestId, route, method, status, ms, partnerId, keyId, error, replayed } = line;
    const texts = [requestId, route, method, partnerId ?? "", keyId ?? "", error ?? ""];
    const isOurs = texts.every((one) => typeof one === "string") && typeof ms === "number";
    if (!isOurs || timeOfUuid(requestId ?? "") === null || !Number.isSafeInteger(status)) return null;
    return { requestId, route, method, status, ms, partnerId, keyId, error, replayed } as Call;
  } catch {
    return null;
  }
}
