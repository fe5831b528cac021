import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import type { SigningEngine } from "../../src/config.ts";
import { configureLog } from "../../src/log.ts";
import { findLibcrypto } from "../../src/signing/libcrypto.ts";
import { type ChosenSigner, openSigner, type SignerOptions } from "../../src/signing/signer.ts";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { aRing, signOne, verifies } from "../harness/keys.ts";
import { rejection } from "../harness/rejection.ts";
import { secrets } from "../harness/samples.ts";
import { start } from "./with-pool.ts";

const hasOpenSsl = findLibcrypto() !== undefined;
const input = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0";
let logged: string[] = [];

beforeEach(() => {
  logged = [];
  configureLog((line) => logged.push(line));
});
afterEach(() => configureLog(() => {}));

async function withSigner(
  options: { engine: SigningEngine } & Partial<SignerOptions>,
  act: (signer: ChosenSigner) => Promise<void>,
): Promise<void> {
  const signer = await openSigner({ secrets, start, ...options });
  try {
    await act(signer);
  } finally {
    await signer.close();
  }
}

/** The C library of this process: a library that opens and has none of OpenSSL's functions. */
function cLibrary(): string | undefined {
  if (process.platform !== "linux") return undefined;
  return /\/\S*(?:libc\.so|ld-musl)\S*/.exec(readFileSync("/proc/self/maps", "utf8"))?.[0];
}

describe("the choice of the engine", () => {
  test.if(hasOpenSsl)("signs by WebCrypto until it is made, and with the same bytes after it", async () => {
    const ring = await aRing("active", "pending");
    await withSigner({ engine: "auto" }, async (signer) => {
      await signer.load(ring);
      expect(signer.engine().name).toBe("webcrypto");
      const early = await signOne(signer, ring.active.kid, input);
      await signer.chosen;
      // Which one it is depends on the machine; that it is said does not.
      expect(logged.filter((line) => line.includes("signing with")).length).toBe(1);
      expect(signer.reason() === null).toBe(signer.engine().name === "openssl");
      expect(await signOne(signer, ring.active.kid, input)).toBe(early);
      expect(verifies(ring, ring.active.kid, { input, signature: early })).toBe(true);
    });
  });

  test.if(hasOpenSsl)("can be forced, either way, and both give the same bytes", async () => {
    const ring = await aRing("active", "pending");
    const signatures = new Set<string>();
    for (const engine of ["openssl", "webcrypto"] as const) {
      await withSigner({ engine }, async (signer) => {
        await signer.chosen;
        expect(signer.engine().name).toBe(engine);
        await signer.load(ring);
        signatures.add(await signOne(signer, ring.active.kid, input));
      });
    }
    expect(signatures.size).toBe(1);
  });

  test("falls back where the library is missing, is none, or is another one; and says so in one line", () =>
    withTempDir(async (folder) => {
      const ring = await aRing("active", "pending");
      await writeFile(join(folder, "text.so"), "no library");
      const other = cLibrary();
      const libraries = [
        join(folder, "none.so"),
        join(folder, "text.so"),
        ...(other === undefined ? [] : [other]),
      ];
      for (const library of libraries) {
        logged = [];
        await withSigner({ engine: "auto", library }, async (signer) => {
          await signer.load(ring);
          await signer.chosen;
          expect(signer.engine().name).toBe("webcrypto");
          expect(signer.reason()).toBeString();
          expect(logged.map((line) => JSON.parse(line).level)).toEqual(["WARN"]);
          const signature = await signOne(signer, ring.active.kid, input);
          expect(verifies(ring, ring.active.kid, { input, signature })).toBe(true);
        });
        const forced = openSigner({ secrets, start, engine: "openssl", library });
        const error = await rejection(forced);
        expect(error).toMatchObject({ code: "CONFIG_INVALID" });
        expect((error as Error).message).toContain("TVS_SIGNING_ENGINE");
      }
    }));

  test("without a program to start threads of is WebCrypto, and openssl is refused", async () => {
    await withSigner({ engine: "auto", start: undefined }, async (signer) => {
      await signer.chosen;
      expect(signer.engine().name).toBe("webcrypto");
    });
    const error = await rejection(openSigner({ secrets, engine: "openssl" }));
    expect(error).toMatchObject({ code: "CONFIG_INVALID" });
  });

  test("is not waited for by a signer that is closed before it", async () => {
    const signer = await openSigner({ secrets, start, engine: "auto", chooseAfterMs: 600_000 });
    await signer.close();
    expect(logged).toEqual([]);
  });

  test.if(hasOpenSsl)("is taken back when the threads keep dying, and no signature is lost", async () => {
    const ring = await aRing("active", "pending");
    const workers: Worker[] = [];
    const counted: typeof start = (data) => {
      const worker = start(data);
      workers.push(worker);
      return worker;
    };
    await withSigner({ engine: "openssl", start: counted, threadCount: 1 }, async (signer) => {
      await signer.load(ring);
      const inputs: string[] = [];
      const signing: Promise<string>[] = [];
      for (let death = 0; signer.engine().name === "openssl"; death++) {
        for (let i = 0; i < 50; i++) {
          inputs.push(`${death}.${i}`);
          signing.push(signOne(signer, ring.active.kid, `${death}.${i}`, { bulk: i % 2 === 0 }));
        }
        await workers.at(-1)?.terminate();
        await sleep(1);
      }
      const signatures = await Promise.all(signing);
      const wrong = inputs.filter((one, i) => {
        return !verifies(ring, ring.active.kid, { input: one, signature: signatures[i] ?? "" });
      });
      expect(wrong).toEqual([]);
      expect(workers.length).toBe(4);
      expect(signer.reason()).toBe("the OpenSSL threads keep crashing");
      expect(logged.filter((line) => line.includes("ERROR")).length).toBe(1);
    });
  });
});
