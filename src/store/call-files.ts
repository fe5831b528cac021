import { constants, existsSync } from "node:fs";
import { lstat, mkdir, open, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type CallKind, callKinds } from "../domain/calls.ts";
import { isoTime } from "../domain/clock.ts";
import { TvsError } from "../domain/errors.ts";

/** How much the access log keeps (decision D11.1). */
export type CallLimits = {
  /** A day's file is deleted when its last call is as old as this. */
  readonly keepDays: number;
  /** Of all files of a kind. */
  readonly maxBytes: Readonly<Record<CallKind, number>>;
  /** A file that would grow beyond this part of them is followed by another one of the same day. */
  readonly filesOfKind: number;
};

const mebibyte = 1024 ** 2;
const usualLimits: CallLimits = {
  keepDays: 14,
  maxBytes: { partners: 768 * mebibyte, strangers: 256 * mebibyte },
  filesOfKind: 16,
};

/** One file: lines of one kind of calls and of one UTC day, such as `2026-01-31-partners.jsonl`. */
export type CallFile = {
  readonly path: string;
  readonly kind: CallKind;
  readonly day: string;
  /** From 1 on; a day that had more than one file's room has several. */
  readonly number: number;
};

const namePattern = /^(\d{4}-\d{2}-\d{2})-(partners|strangers)(?:-(\d{1,6}))?\.jsonl$/;

function fileOf(folder: string, { kind, day, number }: Omit<CallFile, "path">): CallFile {
  const name = `${day}-${kind}${number === 1 ? "" : `-${number}`}.jsonl`;
  return { path: join(folder, name), kind, day, number };
}

/** The files of a kind, the oldest first. What else lies in the folder is not ours. */
export async function listCallFiles(folder: string, kind: CallKind): Promise<CallFile[]> {
  const files = (await readdir(folder)).flatMap((name) => {
    const [, day, itsKind, number = "1"] = namePattern.exec(name) ?? [];
    if (day === undefined || itsKind !== kind) return [];
    return [{ path: join(folder, name), kind, day, number: Number(number) }];
  });
  return files.sort((one, other) =>
    one.day === other.day ? one.number - other.number : one.day < other.day ? -1 : 1,
  );
}

/** Opens a file of the access log, and neither a link to another one nor what is no file. */
export async function openCallFile(path: string, way: "append" | "read") {
  const flags =
    way === "read" ? constants.O_RDONLY : constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;
  const found = await lstat(path).catch(() => null);
  if (found !== null && !found.isFile()) throw new TvsError("INPUT_UNREADABLE", `${path} is no file`);
  // Windows knows no such links.
  return open(path, flags | (constants.O_NOFOLLOW ?? 0), 0o600);
}

/** The files as the one who writes them has them. */
export type CallFiles = {
  /**
   * Appends whole lines to the file of the day, and makes it where there is none.
   * @throws what the file system throws; some of the lines may stand there then, the last one torn
   */
  append(kind: CallKind, lines: string): Promise<void>;
  /** Deletes what is too old or too much. */
  prune(): Promise<void>;
};

/** @param options `now` in milliseconds since the epoch */
export function openCallFiles(
  folder: string,
  { limits = usualLimits, now = Date.now }: { limits?: CallLimits; now?: () => number } = {},
): CallFiles {
  const current: Partial<Record<CallKind, { file: CallFile; bytes: number }>> = {};

  async function makeFolder(): Promise<void> {
    if (!existsSync(folder)) await mkdir(folder, { mode: 0o700 });
    if (!(await lstat(folder)).isDirectory())
      throw new TvsError("INPUT_UNREADABLE", `${folder} is no folder`);
  }

  async function newest(kind: CallKind): Promise<CallFile> {
    const day = dayOf(now());
    const known = current[kind]?.file ?? (await listCallFiles(folder, kind)).at(-1);
    return known?.day === day ? known : fileOf(folder, { kind, day, number: 1 });
  }

  async function append(kind: CallKind, lines: string): Promise<void> {
    await makeFolder();
    const bytes = Buffer.byteLength(lines);
    for (let file = await newest(kind); ; file = fileOf(folder, { ...file, number: file.number + 1 })) {
      if (file.path !== current[kind]?.file.path) await pruneKind(kind);
      const opened = await openCallFile(file.path, "append");
      try {
        const { size } = await opened.stat();
        if (size > 0 && size + bytes > limits.maxBytes[kind] / limits.filesOfKind) continue;
        // What somebody else has written last, or this process before it was killed, may be half a line.
        const isOurs =
          size === 0 || (file.path === current[kind]?.file.path && size === current[kind]?.bytes);
        await opened.appendFile(isOurs ? lines : `\n${lines}`);
        current[kind] = { file, bytes: size + bytes + (isOurs ? 0 : 1) };
        return;
      } finally {
        await opened.close();
      }
    }
  }

  async function pruneKind(kind: CallKind): Promise<void> {
    const files = await listCallFiles(folder, kind);
    const first = dayOf(now() - limits.keepDays * dayMs);
    // There is room for one more.
    let room = limits.maxBytes[kind] * (1 - 1 / limits.filesOfKind);
    for (const { path, day } of files.reverse()) {
      room -= (await lstat(path)).size;
      if (room < 0 || day < first) await unlink(path);
    }
  }

  return {
    append,
    async prune() {
      await makeFolder();
      for (const kind of callKinds) await pruneKind(kind);
    },
  };
}

const dayMs = 86_400_000;

/** The UTC day of a time. */
export function dayOf(ms: number): string {
  return isoTime(ms).slice(0, 10);
}
