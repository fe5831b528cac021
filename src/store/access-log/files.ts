import { constants } from "node:fs";
import { lstat, mkdir, open, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type CallKind, type CallsOfKinds, callKinds } from "../../domain/calls.ts";
import { isoTime } from "../../domain/clock.ts";
import { TvsError } from "../../domain/errors.ts";

/** How much the access log keeps (decision D11.1). */
type CallLimits = {
  /** A day's files are deleted when its last call is as old as this. */
  readonly keepDays: number;
  /** Of all files of a kind. */
  readonly maxBytes: CallsOfKinds;
  /** A file that would outgrow this is followed by another one of the same day: each is read in one piece. */
  readonly maxFileBytes: number;
};

const [dayMs, mebibyte] = [86_400_000, 1024 ** 2];
const usualLimits: CallLimits = {
  keepDays: 14,
  maxBytes: { partners: 768 * mebibyte, strangers: 256 * mebibyte },
  maxFileBytes: 8 * mebibyte,
};

/** Lines of one kind of calls and of one UTC day, such as `2026-01-31-partners.jsonl`, and then `…-partners-2.jsonl`. */
type CallFile = { readonly path: string; readonly day: string; readonly number: number };

/** The UTC day of a time in milliseconds. */
export function dayOf(ms: number): string {
  return isoTime(ms).slice(0, 10);
}

/** The files of a kind, the oldest first. What else lies in the folder is not ours. */
export async function listCallFiles(folder: string, kind: CallKind): Promise<CallFile[]> {
  const pattern = new RegExp(`^(\\d{4}-\\d{2}-\\d{2})-${kind}(?:-(\\d{1,6}))?\\.jsonl$`);
  const files = (await readdir(folder)).flatMap((name) => {
    const [path, day, number = "1"] = pattern.exec(name) ?? [];
    return day === undefined ? [] : [{ path: join(folder, path ?? ""), day, number: Number(number) }];
  });
  return files.sort((one, other) => Date.parse(one.day) - Date.parse(other.day) || one.number - other.number);
}

/** Opens a file of the access log, and neither a link to another one nor what is no file. */
export async function openCallFile(path: string, flags: number) {
  if ((await lstat(path).catch(() => null))?.isFile() === false)
    throw new TvsError("INPUT_UNREADABLE", `${path} is no file`);
  return open(path, flags | constants.O_NOFOLLOW, 0o600);
}

/** The files as the one who writes them has them. Each act throws what the file system throws. */
export type CallFiles = ReturnType<typeof openCallFiles>;

/** @param options `now` in milliseconds since the epoch */
export function openCallFiles(
  folder: string,
  { limits = usualLimits, now = Date.now }: { limits?: CallLimits; now?: () => number } = {},
) {
  /** Whose last line is known to be whole. */
  const current: Partial<Record<CallKind, string>> = {};

  async function makeFolder(): Promise<void> {
    await mkdir(folder, { mode: 0o700 }).catch(() => {});
    if (!(await lstat(folder)).isDirectory())
      throw new TvsError("INPUT_UNREADABLE", `${folder} is no folder`);
  }

  async function pruneKind(kind: CallKind): Promise<void> {
    const first = dayOf(now() - limits.keepDays * dayMs);
    // There is room for one more.
    let room = limits.maxBytes[kind] - limits.maxFileBytes;
    const files = (await listCallFiles(folder, kind)).reverse();
    // A clock that was ahead has left some of days to come: today's have the room before them.
    const ahead = files.filter(({ day }) => day > dayOf(now()));
    for (const { path, day } of [...files.slice(ahead.length), ...ahead]) {
      room -= (await lstat(path)).size;
      if (room < 0 || day < first) await unlink(path);
    }
  }

  async function append(kind: CallKind, lines: string): Promise<void> {
    await makeFolder();
    const day = dayOf(now());
    const newest = (await listCallFiles(folder, kind)).findLast((file) => file.day === day);
    for (let number = newest?.number ?? 1; ; number++) {
      const path = join(folder, `${day}-${kind}${number === 1 ? "" : `-${number}`}.jsonl`);
      const isKnown = current[kind] === path;
      delete current[kind];
      if (!isKnown) await pruneKind(kind);
      const file = await openCallFile(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT);
      try {
        const { size } = await file.stat();
        if (size > 0 && size + Buffer.byteLength(lines) > limits.maxFileBytes) continue;
        await file.appendFile(isKnown || size === 0 ? lines : `\n${lines}`);
        current[kind] = path;
        return;
      } finally {
        await file.close();
      }
    }
  }

  return {
    /** Appends whole lines to the file of the day. When it fails, some of them may stand there, the last one torn. */
    append,
    /** Makes the folder where there is none, and deletes what is too old or too much. */
    async prune(): Promise<void> {
      await makeFolder();
      for (const kind of callKinds) await pruneKind(kind);
    },
  };
}
