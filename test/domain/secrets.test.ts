import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { areBytesEqual, deriveSecrets, generateMasterKey } from "../../src/domain/secrets.ts";
import { masterKey, secrets } from "../harness/samples.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const secret = new TextEncoder().encode("the private half of a key");

/** Expects an error with this code, whose message does not repeat the master key. */
function expectRefusal(run: () => unknown, code: string): void {
  expect(run).toThrow(expect.objectContaining({ code, message: expect.not.stringContaining(masterKey) }));
}

test("the derived secrets are HKDF-SHA-256 of the master key and a name for each use", () => {
  const { blindIndexKey, check, mac } = secrets;
  expect([blindIndexKey, Buffer.from(check, "base64url"), mac("api-key", "text")].map(hex)).toEqual([
    "82de0354c2152bbb5efa16774074e34e24918779393dcbde659ca7e292f83c65",
    "da360fa0352b24630b800b5b6bb087bc8673993a8c47883d8f1b0c568dc3396f",
    "de60a28182d23458f4a1a18c9b30d82c1b0099e07dbf43d78f9da7dcc36d4e02",
  ]);
});

test("the derived secrets differ with the use and with the master key", () => {
  const other = deriveSecrets(generateMasterKey());
  expect(hex(secrets.mac("idempotency", "text"))).not.toBe(hex(secrets.mac("api-key", "text")));
  expect(hex(other.mac("api-key", "text"))).not.toBe(hex(secrets.mac("api-key", "text")));
  expect(other.check).not.toBe(secrets.check);
  expect(hex(other.blindIndexKey)).not.toBe(hex(secrets.blindIndexKey));
});

test("a new master key is 32 random bytes, and deriveSecrets accepts it with white space around", () => {
  const made = Array.from({ length: 20 }, generateMasterKey);
  expect(new Set(made).size).toBe(20);
  for (const text of made) {
    expect(text).toMatch(/^[\w-]{43}$/);
    expect(deriveSecrets(`\n ${text}\r\n`).check).toBe(deriveSecrets(text).check);
  }
});

test.each([
  ["empty", ""],
  ["a byte too short", masterKey.slice(0, -2)],
  ["a byte too long", `${masterKey}AA`],
  ["padded", `${masterKey}=`],
  ["in base64url", `${"+".repeat(42)}8`],
  ["with spare bits set", `${masterKey.slice(0, -1)}9`],
  ["with a line break inside", `${masterKey.slice(0, 20)}\n${masterKey.slice(20)}`],
  ["in hexadecimal", "00".repeat(32)],
])("a master key that is %s is refused, and the refusal does not repeat the key", (_what, text) => {
  expectRefusal(() => deriveSecrets(text), "MASTER_KEY_INVALID");
});

const sealed = secrets.seal(secret, "kid-1");

test("a sealed secret can be opened under its name", () => {
  expect(secrets.open(sealed, "kid-1")).toEqual(secret);
  expect(secrets.open(secrets.seal(new Uint8Array(), "none"), "none")).toEqual(new Uint8Array());
});

test("a sealed secret does not contain the secret, and differs each time it is sealed", () => {
  expect(Buffer.from(sealed).includes(Buffer.from(secret).subarray(0, 8))).toBe(false);
  expect(sealed.length).toBe(12 + secret.length + 16);
  expect(hex(secrets.seal(secret, "kid-1"))).not.toBe(hex(sealed));
});

test("a sealed secret cannot be opened under another name or master key, or if a byte was changed", () => {
  const opened = ["kid-2", "", "kid-1 ", "KID-1"].map((name) => () => secrets.open(sealed, name));
  const other = () => deriveSecrets(generateMasterKey()).open(sealed, "kid-1");
  const changed = Array.from(
    sealed,
    (byte, place) => () => secrets.open(sealed.with(place, byte ^ 1), "kid-1"),
  );
  for (const run of [...opened, other, ...changed]) expectRefusal(run, "MASTER_KEY_WRONG");
});

test.each([
  [[1, 2, 3], [1, 2, 3], true],
  [[], [], true],
  [[1, 2, 3], [1, 2, 4], false],
  [[1, 2, 3], [1, 2], false],
  [[], [1], false],
])("areBytesEqual returns for %p and %p the result %p", (a, b, isEqual) => {
  expect(areBytesEqual(new Uint8Array(a), new Uint8Array(b))).toBe(isEqual);
});
