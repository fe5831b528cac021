import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  createTimeStampRequest,
  readTimeStamp,
  tags,
  writeDer,
} from "../../../src/domain/evidence/time-stamp.ts";
import { sharedFolder } from "../../harness/folder.ts";
import {
  hasOpenssl,
  makeAuthority,
  openssl,
  type TimeStampAuthority,
} from "../../harness/time-stamp-authority.ts";

const content = new TextEncoder().encode("a checkpoint\n");
const folder = sharedFolder();
let authority: TimeStampAuthority;
beforeAll(() => {
  if (hasOpenssl) authority = makeAuthority(folder);
});

/** A question, its answer, and how the question is told to whoever compares. */
function ask(policy?: string) {
  const request = createTimeStampRequest(content, policy);
  const answer = authority.reply(request.bytes);
  return { request, answer, asked: { nonce: request.nonce, policy, now: Date.now() } };
}

/** How reading ends: the code and the words of the failure; null for one that is good. */
function failure(answer: Uint8Array, expected: Parameters<typeof readTimeStamp>[1]) {
  try {
    readTimeStamp(answer, expected);
    return null;
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { code, message };
  }
}

test("an answer whose identifier has no end is given up at once", () => {
  const endless = writeDer(tags.oid, new Uint8Array(60_000).fill(0x81).fill(1, -1));
  const status = writeDer(tags.sequence, writeDer(tags.integer, Uint8Array.of(0)));
  const answer = writeDer(tags.sequence, status, writeDer(tags.sequence, endless));
  expect(failure(answer, { content })).toMatchObject({ code: "INPUT_UNREADABLE" });
});

const refused = (words: string) => ({ code: "REFUSED", message: expect.stringContaining(words) });

describe.skipIf(!hasOpenssl)("a question to a time-stamp authority", () => {
  test("is the one that OpenSSL would ask", () => {
    writeFileSync(join(folder, "content"), content);
    writeFileSync(join(folder, "own"), createTimeStampRequest(content, "1.3.6.1.4.1.601.10.3.1").bytes);
    const words = ["ts", "-query", "-data", "content", "-sha256", "-cert"];
    openssl(folder, ...words, "-tspolicy", "1.3.6.1.4.1.601.10.3.1", "-out", "theirs");
    const [own, theirs] = ["own", "theirs"].map((file) =>
      openssl(folder, "ts", "-query", "-in", file, "-text").replace(/Nonce: .*/, "Nonce"),
    );
    expect(own).toBe(theirs ?? "");
  });
});

describe.skipIf(!hasOpenssl)("an authority's answer", () => {
  test("is read, with its time, policy and number", () => {
    const { answer, asked } = ask();
    const stamp = readTimeStamp(answer, { content, asked });
    expect(stamp).toMatchObject({ policy: "1.2.3.4.1", serial: expect.stringMatching(/^[0-9a-f]{2}$/) });
    expect(Math.abs(stamp.time - Date.now())).toBeLessThan(60_000);
    // What was compared when it came is compared with the checkpoint alone when it is written out.
    expect(readTimeStamp(answer, { content })).toEqual(stamp);
  });

  test("is the one of the policy that was asked for", () => {
    const { answer, asked } = ask("1.2.3.4.5");
    expect(readTimeStamp(answer, { content, asked })).toMatchObject({ policy: "1.2.3.4.5" });
    const other = { ...asked, policy: "1.2.3.4.1" };
    const found = failure(answer, { content, asked: other });
    expect(found).toMatchObject(refused("under the policy 1.2.3.4.5, not 1.2.3.4.1"));
  });

  test("is refused in the authority's own words when it grants none", () => {
    const { asked } = ask();
    openssl(folder, "ts", "-query", "-data", "settings", "-sha512", "-out", "odd");
    const answer = authority.reply(readFileSync(join(folder, "odd")));
    expect(failure(answer, { content, asked })).toMatchObject(
      refused("refused (rejected): Message digest algorithm is not supported."),
    );
  });

  test("is refused for another question, for other bytes and with a wrong clock", () => {
    const { answer, asked } = ask();
    const other = new TextEncoder().encode("another checkpoint\n");
    for (const [words, expected] of [
      ["did not repeat the number", { content, asked: { ...asked, nonce: ask().request.nonce } }],
      ["something else than this checkpoint", { content: other, asked }],
      [
        "more than five minutes from this machine's clock",
        { content, asked: { ...asked, now: asked.now + 600_000 } },
      ],
    ] as const)
      expect(failure(answer, expected)).toMatchObject(refused(words));
  });

  test("is never taken for one over other bytes, whatever byte of it was changed", () => {
    const { answer, asked } = ask();
    const digest = Buffer.from(Bun.SHA256.hash(content) as Uint8Array);
    const at = Buffer.from(answer).indexOf(digest);
    expect(at).toBeGreaterThan(0);
    for (let index = at; index < at + digest.length; index++) {
      const spoilt = Uint8Array.from(answer, (byte, one) => (one === index ? byte ^ 1 : byte));
      expect(failure(spoilt, { content, asked })).toMatchObject({ code: "REFUSED" });
    }
    // Wherever else: it is good, refused or unreadable, and nothing else happens.
    for (let index = 0; index < answer.length; index++) {
      const spoilt = Uint8Array.from(answer, (byte, one) => (one === index ? byte ^ 0xff : byte));
      expect([undefined, "REFUSED", "INPUT_UNREADABLE"]).toContain(failure(spoilt, { content, asked })?.code);
      expect(failure(answer.slice(0, index), { content, asked })?.code).toBe("INPUT_UNREADABLE");
    }
  });

  test.each([
    ["nothing", () => new Uint8Array()],
    ["a page", () => new TextEncoder().encode("<html>")],
    ["an answer with a byte more", (whole: Uint8Array) => Uint8Array.of(...whole, 0)],
    ["a length without an end", () => Uint8Array.of(0x30, 0x80, 0, 0)],
  ])("that is %s is none", (_name, change) => {
    const { answer, asked } = ask();
    expect(failure(change(answer), { content, asked })).toMatchObject({ code: "INPUT_UNREADABLE" });
  });
});
