import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { KeyRing } from "../../src/domain/keys.ts";
import { findLibcrypto } from "../../src/signing/openssl.ts";
import { openSigner, type ServiceSigner } from "../../src/signing/signer.ts";
import { withTempDir } from "../harness/folder.ts";
import { isSignedBy, signOne } from "../harness/keys.ts";
import { catchError } from "../harness/rejection.ts";
import { secrets } from "../harness/samples.ts";
import { collectLog, withSigner } from "./machine.ts";

const hasOpenSsl = findLibcrypto() !== undefined;
const input = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0";
const logged = collectLog();

/** The path of the C library, which can be opened and has none of OpenSSL's functions. */
function cLibrary(): string | undefined {
  if (process.platform !== "linux") return undefined;
  return /\/\S*(?:libc\.so|ld-musl)\S*/.exec(readFileSync("/proc/self/maps", "utf8"))?.[0];
}

async function expectToSign(signer: ServiceSigner, ring: KeyRing): Promise<void> {
  const signature = await signOne(signer, ring.active.kid, input);
  expect(isSignedBy(ring, ring.active.kid, { input, signature })).toBe(true);
}

test("a service logs the chosen signing engine in one line, and signs with it", () =>
  withSigner({ engine: "auto" }, async (signer, ring) => {
    // The engine depends on the machine.
    expect(logged.filter(({ message }) => message.includes("signing with")).length).toBe(1);
    expect(signer.reason === null).toBe(signer.engine.name !== "webcrypto");
    await expectToSign(signer, ring);
  }));

test.if(hasOpenSsl)("a service signs without crypto_mb if it cannot be used, unless it is required", () =>
  withTempDir(async (folder) => {
    for (const cryptoMbFile of [join(folder, "none.so"), findLibcrypto() ?? ""]) {
      logged.length = 0;
      await withSigner({ engine: "auto", cryptoMbFile }, async (signer) => {
        expect(signer.engine.name).not.toBe("crypto_mb");
        const refusals = logged.filter(({ message }) => message.includes("signing without crypto_mb"));
        expect(refusals).toHaveLength(1);
      });
      const message = expect.stringContaining("libcrypto-mb11");
      const error = await catchError(openSigner({ secrets, engine: "crypto_mb", cryptoMbFile }));
      expect(error).toMatchObject({ code: "CONFIG_INVALID", message });
    }
  }),
);

test("a service uses WebCrypto if OpenSSL's library is missing or unusable, and logs this in one line", () =>
  withTempDir(async (folder) => {
    await writeFile(join(folder, "text.so"), "no library");
    const other = cLibrary();
    const names = ["none.so", "text.so"].map((name) => join(folder, name));
    for (const library of other === undefined ? names : [...names, other]) {
      logged.length = 0;
      await withSigner({ engine: "auto", library }, async (signer, ring) => {
        expect(signer.engine.name).toBe("webcrypto");
        expect(signer.reason).toBeString();
        expect(logged.map(({ level }) => level)).toEqual(["WARN"]);
        await expectToSign(signer, ring);
      });
      const message = expect.stringContaining("TVS_SIGNING_ENGINE");
      const error = await catchError(openSigner({ secrets, engine: "openssl", library }));
      expect(error).toMatchObject({ code: "CONFIG_INVALID", message });
    }
  }));
