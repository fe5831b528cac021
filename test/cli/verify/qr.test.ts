import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type PictureLimits, pictureLimits } from "../../../cli/verify/pictures.ts";
import { runVerify } from "../../../cli/verify/verify.ts";
import { splitIntoCodes } from "../../../src/partner/envelope-codes.ts";
import { audience, folder, issuer, now } from "../../fixtures/envelope-tokens.ts";
import { makeFolder } from "../../harness/folder.ts";
import {
  earlierCodesOf,
  jpegOf,
  pdfOf,
  pngOf,
  sheetOf,
  storedBits,
  storedJpeg,
  turned,
} from "./certificate-pictures.ts";
import {
  interlacedPng,
  pdfDeflatedTwice,
  pdfDrawnOften,
  pdfOfPictures,
  pngWithTwoHeaders,
  underAnotherHeader,
} from "./picture-bombs.ts";

const settings = [
  ...["--key-history", join(folder, "keys", "history.jose"), "--jwks", join(folder, "keys", "jwks.json")],
  ...["--issuer", issuer, "--audience", audience],
];

const jws = (await readFile(join(folder, "inputs", "valid-bare.jws"), "utf8")).trim();
const codes = await splitIntoCodes(jws, "https://teachers.example/verify-envelope");
const sheet = sheetOf(codes);

let temp: string;
let remove: () => Promise<void>;
beforeEach(async () => {
  ({ path: temp, remove } = await makeFolder());
});
afterEach(() => remove());

async function* oneChunk(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

type Run = { code: number; stdout: string; stderr: string };

async function run(
  paths: readonly string[],
  options: { stdin?: Uint8Array; more?: string[]; pictureLimits?: PictureLimits } = {},
): Promise<Run> {
  let [stdout, stderr] = ["", ""];
  const io = {
    stdout: (text: string | Uint8Array) => {
      stdout += typeof text === "string" ? text : Buffer.from(text).toString();
    },
    stderr: (text: string) => {
      stderr += text;
    },
    env: {},
    now: () => new Date(now),
    stdin: oneChunk(options.stdin ?? new Uint8Array()),
    pictureLimits: options.pictureLimits ?? pictureLimits,
  };
  const code = await runVerify([...settings, ...(options.more ?? []), "--qr", ...paths], io);
  return { code, stdout, stderr };
}

async function save(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(temp, name);
  await writeFile(path, bytes);
  return path;
}

describe("tvs verify --qr reads back", () => {
  test.each([
    ["a screenshot", "page.png", () => pngOf(sheet)],
    ["a photograph", "page.jpg", () => jpegOf(sheet)],
    ["a photograph of a sheet that lies askew", "askew.jpg", () => jpegOf(turned(sheet, 17))],
    ["a photograph taken upside down", "upside.jpg", () => jpegOf(turned(sheet, 180))],
    [
      "a PDF in which each code is a picture",
      "saved.pdf",
      () => pdfOf(codes.map((code) => sheetOf([code])).map((one) => ({ ...one, ...storedBits(one) }))),
    ],
    ["a PDF of a scanned page", "scanned.pdf", () => pdfOf([{ ...sheet, ...storedJpeg(sheet) }])],
    ["whatever the file is called", "certificate.txt", () => pngOf(sheet)],
  ])("%s", async (_, name, make) => {
    const { code, stdout, stderr } = await run([await save(name, make())]);
    expect(stderr).toBe("");
    expect(stdout).toStartWith(`valid  ${join(temp, name)}\n`);
    expect(stdout).toContain("1 valid, 0 refused, 0 undecidable");
    expect(code).toBe(0);
  });

  test("a certificate that was printed before codes were links", async () => {
    const earlier = await earlierCodesOf("TVS1", jws);
    expect(earlier).toHaveLength(3);
    const { code, stdout } = await run([await save("earlier.jpg", jpegOf(sheetOf(earlier)))]);
    expect(stdout).toContain("1 valid, 0 refused, 0 undecidable");
    expect(code).toBe(0);
  });

  test("one picture of each code, and standard input", async () => {
    expect(codes.length).toBeGreaterThan(1);
    const paths: string[] = [];
    for (const [index, code] of codes.slice(1).entries()) {
      paths.push(await save(`${index}.png`, pngOf(sheetOf([code]))));
    }
    const { code, stdout } = await run([...paths, "-"], {
      stdin: pngOf(sheetOf(codes.slice(0, 1))),
      more: ["--json"],
    });
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      valid: true,
      audience,
      file: `${paths.join(", ")}, -`,
    });
  });

  test("a long signature with a profile, from eight codes", async () => {
    const long = await splitIntoCodes(`${jws.slice(0, 20)}${jws.repeat(3)}`);
    expect(long.length).toBeGreaterThanOrEqual(8);
    const { code, stdout } = await run([await save("long.png", pngOf(sheetOf(long)))], { more: ["--json"] });
    // It is read whole; three signatures in a row are none.
    expect(JSON.parse(stdout)).toMatchObject({ reason: "JWS_MALFORMED" });
    expect(code).toBe(1);
  });

  test("what was signed, so that a forged certificate is refused", async () => {
    const [head = "", payload = "", signature = ""] = jws.split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
    claims.result.teacher.name = "Somebody Else";
    const forged = `${head}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
    const picture = pngOf(sheetOf(await splitIntoCodes(forged)));
    const { code, stdout } = await run([await save("forged.png", picture)]);
    expect(stdout).toContain("SIGNATURE_INVALID");
    expect(stdout).not.toContain("Somebody Else");
    expect(code).toBe(1);
  });
});

describe("tvs verify --qr says plainly, with exit code 2,", () => {
  async function expectProblem(paths: readonly string[], words: string): Promise<void> {
    const { code, stdout, stderr } = await run(paths);
    expect(stderr).toContain(words);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect([code, stdout]).toEqual([2, ""]);
  }

  test("that there is no code", async () => {
    const blank = { width: 300, height: 300, data: new Uint8ClampedArray(300 * 300 * 4).fill(255) };
    await expectProblem([await save("blank.png", pngOf(blank))], "no QR code of an attestation was found");
    const other = sheetOf(["https://www.example.org/menu"]);
    await expectProblem([await save("menu.jpg", jpegOf(other))], "no QR code of an attestation was found");
    const pdf = pdfOf([{ ...blank, ...storedBits(blank) }]);
    await expectProblem([await save("blank.pdf", pdf)], "no QR code of an attestation was found");
  });

  test("which parts are missing", async () => {
    const many = await splitIntoCodes(jws.repeat(2));
    const rest = many.filter((_, index) => index !== 1 && index !== 3);
    const path = await save("part.png", pngOf(sheetOf(rest)));
    await expectProblem([path], `has ${many.length} codes, and these were not found: 2, 4;`);
  });

  test("that the codes are of different certificates", async () => {
    const other = await splitIntoCodes(`${jws}A`);
    const paths = [await save("one.png", pngOf(sheet)), await save("other.png", pngOf(sheetOf(other)))];
    await expectProblem(paths, "belong to 2 different attestations");
  });

  test("that a code was replaced", async () => {
    const [first = "", ...rest] = codes;
    const changed = first.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    await expectProblem([await save("x.png", pngOf(sheetOf([changed, ...rest])))], "do not fit together");
  });

  test("that it is no picture", async () => {
    await expectProblem([await save("x.json", Buffer.from("{}"))], "not a PNG, a JPEG or a PDF");
    await expectProblem([await save("empty.png", new Uint8Array())], "not a PNG, a JPEG or a PDF");
    await expectProblem([join(temp, "absent.png")], "cannot be read");
    await expectProblem([temp], "cannot be read");
  });

  test("that a file is damaged", async () => {
    await expectProblem([await save("x.png", pngOf(sheet).slice(0, 900))], "damaged PNG");
    await expectProblem([await save("x.jpg", jpegOf(sheet).slice(0, 300))], "damaged JPEG");
    await expectProblem([await save("x.pdf", Buffer.from("%PDF-1.7\nnothing"))], "damaged PDF");
  });

  test("that a picture is too large, before it fills the memory", async () => {
    const bytes = Buffer.from(pngOf(sheetOf(codes.slice(0, 1))));
    bytes.writeUInt32BE(20_000, 16);
    bytes.writeUInt32BE(20_000, 20);
    await expectProblem([await save("wide.png", bytes)], "more than 40 million pixels");
    const jpg = Buffer.from(jpegOf(sheetOf(codes.slice(0, 1))));
    const frame = jpg.indexOf(Buffer.from([0xff, 0xc0]));
    expect(frame).toBeGreaterThan(0);
    jpg.writeUInt16BE(20_000, frame + 5);
    jpg.writeUInt16BE(20_000, frame + 7);
    await expectProblem([await save("wide.jpg", jpg)], "more than 40 million pixels");
    const huge = await save("huge.png", pngOf(sheet));
    await truncate(huge, 20 * 1024 * 1024 + 1);
    await expectProblem([huge], "larger than 20 MiB");
  });
});

describe("a picture from a stranger", () => {
  async function expectRefused(
    name: string,
    bytes: Uint8Array,
    words: string,
    limits: Partial<PictureLimits> = {},
  ): Promise<void> {
    const path = await save(name, bytes);
    const { code, stdout, stderr } = await run([path], { pictureLimits: { ...pictureLimits, ...limits } });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(words);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  }

  test("that takes too long is given up, with advice", () =>
    expectRefused("slow.png", pngOf(sheet), "took too long, more than 0.001 s; crop the picture", {
      deadlineMs: 1,
    }));

  // Below zero, so that it does not depend on how much memory earlier tests have left to this process.
  test("that takes too much memory is given up, with advice", () =>
    expectRefused("large.png", pngOf(sheet), "took too much memory, more than 512 MiB; crop the picture", {
      growthBytes: Number.NEGATIVE_INFINITY,
    }));

  test("that says twice how large it is, is damaged, whichever is right", async () => {
    await expectRefused("two.png", underAnotherHeader(pngOf(sheet)), "damaged PNG");
    await expectRefused("bomb.png", pngWithTwoHeaders(), "damaged PNG");
  });

  test("that is interlaced and unpacks to more than it can hold, is damaged", () =>
    expectRefused("interlaced.png", interlacedPng(50_000_000), "damaged PNG"));

  test("that is drawn 300 times in a PDF, is looked at once", () =>
    expectRefused("often.pdf", pdfDrawnOften(300, 64), "no QR code of an attestation was found"));

  test("among more than a certificate can have, is not looked for", () =>
    expectRefused("many.pdf", pdfOfPictures(121, 64), "more than 120 pictures"));

  test("in a PDF that was deflated twice is given up once it grows", () =>
    expectRefused("twice.pdf", pdfDeflatedTwice(300_000_000), "took too much memory", {
      growthBytes: 64 * 1024 * 1024,
    }));
});
