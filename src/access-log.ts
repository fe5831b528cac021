import { basename, dirname } from "node:path";
import { createStream } from "rotating-file-stream";
import type { LoggedCall } from "./domain/calls.ts";
import { isoTime, timeOfUuid } from "./domain/clock.ts";
import { resolvesWithin } from "./domain/deadline.ts";
import { log } from "./logger.ts";

/** A file that reaches this size is renamed, and a new file is begun. */
const fileSize = "64M";
/** How many renamed files are kept. All files together: 768 MiB of partners' calls, 256 MiB of other calls. */
const keptFiles = { partners: 11, others: 3 };
/** Lines are collected for this long, so that a busy service writes to the disk less often. */
const gatherMs = 200;
/** The most characters that wait for a slow disk; further lines are dropped. */
const maxWaiting = 8 * 1024 ** 2;
/** The longest time that `close` waits for the last lines to be written. */
const closeMs = 2_000;

/**
 * Opens the access log (D11.1): a line of JSON for each answered call. `observe` never throws or waits for the disk.
 * @param file the log of partners' calls. Calls without a valid credential have their own file, `…-others.log`, because
 *   anybody can make so many of them that older files are deleted
 */
export function openAccessLog(file: string, size = fileSize) {
  const partners = openRotatingFile(file, { size, rotate: keptFiles.partners });
  const others = openRotatingFile(file.replace(/\.log$/, "-others.log"), { size, rotate: keptFiles.others });
  return {
    observe(call: LoggedCall): void {
      (call.partnerId === null ? others : partners).write(lineOf(call));
    },
    async close(): Promise<void> {
      await Promise.all([partners.close(), others.close()]);
    },
  };
}

function lineOf(call: LoggedCall): string {
  const { requestId, ms, route, method, status, partnerId, keyId, error, replayed } = call;
  const time = isoTime(timeOfUuid(requestId) ?? 0);
  const rounded = Math.round(ms * 10) / 10;
  const line = { time, route, method, status, partnerId, keyId, requestId, ms: rounded, error, replayed };
  return `${JSON.stringify(line)}\n`;
}

/** Opens one rotating file. While the disk fails, lines are lost; the service's log reports this once. */
function openRotatingFile(file: string, limits: { size: string; rotate: number }) {
  let stream: ReturnType<typeof createStream> | undefined;
  let waiting = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hasFailed = false;

  function report(detail: string | null): void {
    if (detail !== null && !hasFailed)
      log.error("the access log cannot be written; calls are missing from it", { file, detail });
    if (detail === null && hasFailed) log.info("the access log is written again", { file });
    hasFailed = detail !== null;
  }

  function open() {
    const opened = createStream(basename(file), { path: dirname(file), mode: 0o600, ...limits });
    opened.on("error", (error) => {
      if (stream === opened) stream = undefined;
      report(String(error));
    });
    // A killed service may have left half a line. This line end separates that half from the next line.
    opened.write("\n");
    return opened;
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (waiting === "") return;
    stream ??= open();
    stream.write(waiting, (error) => {
      if (!error) report(null);
    });
    waiting = "";
  }

  // Opens the file now, so that a folder without write permission is reported at the start.
  stream = open();
  return {
    write(line: string): void {
      if (waiting.length + (stream?.writableLength ?? 0) > maxWaiting) {
        report("the disk takes the lines too slowly");
        return;
      }
      waiting += line;
      timer ??= setTimeout(flush, gatherMs);
      timer.unref?.();
    },
    async close(): Promise<void> {
      flush();
      await resolvesWithin(
        closeMs,
        new Promise<void>((resolve) => stream?.end(() => resolve()) ?? resolve()),
      );
    },
  };
}
