import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkTimeStamp, createTimeStampRequest } from "../../../src/domain/log/time-stamp.ts";
import { makeFolder, sharedFolder, withTempDir } from "../../harness/folder.ts";
import {
  hasOpenssl,
  makeAuthority,
  openssl,
  spoilPurpose,
  type TimeStampAuthority,
} from "../../harness/time-stamp-authority.ts";

const content = new TextEncoder().encode("a checkpoint\n");
const folder = sharedFolder();
let authority: TimeStampAuthority;
beforeAll(() => {
  if (hasOpenssl) authority = makeAuthority(folder);
});

/** A question, its answer, and how the question is told to whoever checks. */
async function ask(of = authority, policy?: string) {
  const request = await createTimeStampRequest(content, policy);
  const answer = of.reply(request.bytes);
  return { request, answer, asked: { nonce: request.nonce, policy, now: Date.now() } };
}

const refused = (words: string) => ({ code: "REFUSED", message: expect.stringContaining(words) });

describe.skipIf(!hasOpenssl)("an authority's time-stamp", () => {
  test("is read, with its time, policy, number and signer", async () => {
    const { answer, asked } = await ask();
    const stamp = await checkTimeStamp(answer, { content, asked });
    expect(stamp).toMatchObject({
      policy: "1.2.3.4.1",
      signer: "O=Example, CN=signer",
      serial: "02",
      trusted: false,
    });
    expect(Math.abs(stamp.time - Date.now())).toBeLessThan(60_000);
    const printed = openssl(folder, "x509", "-in", "signer.pem", "-noout", "-fingerprint", "-sha256");
    expect(printed.trim().split("=")[1]?.replaceAll(":", "").toLowerCase()).toBe(stamp.fingerprint);
  });

  test("is followed up to the authority that the caller trusts, and to no other", async () => {
    const { answer, asked } = await ask();
    const trust = readFileSync(authority.rootFile, "utf8");
    expect(await checkTimeStamp(answer, { content, asked, trust })).toMatchObject({ trusted: true });
    await withTempDir(async (other) => {
      const stranger = readFileSync(makeAuthority(other).rootFile, "utf8");
      const check = checkTimeStamp(answer, { content, asked, trust: stranger });
      expect(check).rejects.toMatchObject(refused("is not one that --tsa-ca vouches for"));
      await check.catch(() => null);
    });
    const none = checkTimeStamp(answer, { content, asked, trust: "no certificate" });
    await expect(none).rejects.toMatchObject({ code: "INPUT_UNREADABLE" });
  });

  test("is the one of the policy that was asked for", async () => {
    const { answer, asked } = await ask(authority, "1.2.3.4.5");
    expect(await checkTimeStamp(answer, { content, asked })).toMatchObject({ policy: "1.2.3.4.5" });
    const other = { ...asked, policy: "1.2.3.4.1" };
    const check = checkTimeStamp(answer, { content, asked: other });
    await expect(check).rejects.toMatchObject(refused("under the policy 1.2.3.4.5, not 1.2.3.4.1"));
  });

  test("is refused in the authority's own words when it grants none", async () => {
    const { request, asked } = await ask();
    openssl(folder, "ts", "-query", "-data", "settings", "-sha512", "-out", "odd");
    const answer = authority.reply(readFileSync(join(folder, "odd")));
    expect(request.bytes.length).toBeGreaterThan(0);
    const check = checkTimeStamp(answer, { content, asked });
    await expect(check).rejects.toMatchObject(
      refused("refused (rejected): Message digest algorithm is not supported."),
    );
  });

  test("is refused for another question, for other bytes and with a wrong clock", async () => {
    const { answer, asked } = await ask();
    const { request } = await ask();
    const earlier = { ...asked, nonce: request.nonce };
    await expect(checkTimeStamp(answer, { content, asked: earlier })).rejects.toMatchObject(
      refused("did not repeat the number"),
    );
    const other = new TextEncoder().encode("another checkpoint\n");
    await expect(checkTimeStamp(answer, { content: other, asked })).rejects.toMatchObject(
      refused("something else than this checkpoint"),
    );
    const late = { ...asked, now: asked.now + 600_000 };
    await expect(checkTimeStamp(answer, { content, asked: late })).rejects.toMatchObject(
      refused("more than five minutes from this machine's clock"),
    );
  });

  test("is refused from a certificate that is not for time-stamping", async () => {
    const { path, remove } = await makeFolder();
    const wrong = makeAuthority(path);
    const { request, asked } = await ask();
    // OpenSSL looks at the certificate too, so the answer is signed as a plain CMS over a real time-stamp's content.
    const token = ["ts", "-reply", "-in", "answer", "-token_out", "-out", "token"];
    wrong.reply(request.bytes);
    openssl(path, ...token);
    openssl(path, "cms", "-verify", "-noverify", "-inform", "DER", "-in", "token", "-out", "info");
    spoilPurpose(wrong);
    openssl(
      path,
      ...[
        "cms",
        "-sign",
        "-binary",
        "-nodetach",
        "-in",
        "info",
        "-signer",
        "signer.pem",
        "-inkey",
        "signer.key",
      ],
      ...["-econtent_type", "1.2.840.113549.1.9.16.1.4", "-cades", "-outform", "DER", "-out", "token"],
    );
    openssl(path, "ts", "-reply", "-in", "token", "-token_in", "-out", "answer");
    const answer = readFileSync(join(path, "answer"));
    await expect(checkTimeStamp(answer, { content, asked })).rejects.toMatchObject(
      refused("a certificate that is not for time-stamping"),
    );
    await remove();
  });

  test("is refused when a byte of what is signed, of the signature or of the signer was changed", async () => {
    const { answer, asked } = await ask();
    // Beyond them lie what the authority says of its answer, and the certificate between, which only a root can judge.
    const spans = [spanOf(answer, "info"), spanOf(answer, "signer.der"), [answer.length - 60, answer.length]];
    for (const [from = 0, to = 0] of spans) {
      for (let at = from; at < to; at += 7) {
        const spoilt = Uint8Array.from(answer, (byte, index) => (index === at ? byte ^ 1 : byte));
        const check = checkTimeStamp(spoilt, { content, asked }).then(
          () => `accepted with byte ${at} changed`,
          ({ code }: { code: string }) => code,
        );
        expect(["REFUSED", "INPUT_UNREADABLE"]).toContain(await check);
      }
    }
  });

  test.each([
    ["nothing", () => new Uint8Array()],
    ["a page", () => new TextEncoder().encode("<html>")],
    ["an answer that is cut short", (whole: Uint8Array) => whole.slice(0, -1)],
    ["an answer with a byte more", (whole: Uint8Array) => Uint8Array.of(...whole, 0)],
  ])("that is %s is none", async (_name, change) => {
    const { answer, asked } = await ask();
    const check = checkTimeStamp(change(answer), { content, asked });
    await expect(check).rejects.toMatchObject({ code: "INPUT_UNREADABLE" });
  });
});

/** Where a part of an answer lies in it: what is time-stamped, or the signer's certificate. */
function spanOf(answer: Uint8Array, part: "info" | "signer.der"): [from: number, to: number] {
  writeFileSync(join(folder, "answer"), answer);
  openssl(folder, "ts", "-reply", "-in", "answer", "-token_out", "-out", "token");
  if (part === "info")
    openssl(folder, "cms", "-verify", "-noverify", "-inform", "DER", "-in", "token", "-out", part);
  else openssl(folder, "x509", "-in", "signer.pem", "-outform", "DER", "-out", part);
  const bytes = readFileSync(join(folder, part));
  const from = Buffer.from(answer).indexOf(bytes);
  expect(from).toBeGreaterThan(0);
  return [from, from + bytes.length];
}
