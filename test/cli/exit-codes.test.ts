import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { expectOneLine } from "../blackbox/used-folder.ts";
import { runTvs } from "../harness/command.ts";
import { sharedFolder } from "../harness/folder.ts";
import { patienceMs, programWords } from "../harness/program.ts";
import { makeRegister } from "../harness/service.ts";

setDefaultTimeout(patienceMs);

const folder = sharedFolder();
const used = join(folder, "used");
beforeAll(() => makeRegister(used));

describe("usage errors", () => {
  test.each([
    ["a sub-command that is none", "keys lits"],
    ["a group without command", "keys"],
    ["a flag that is none", "keys list --jsno"],
    ["nothing to change", "partners set nobody"],
    ["what names no teacher", "teachers show nonsense"],
    ["a missing operand", "partners show"],
    ["a missing flag", "partners add someone --scopes all"],
    [
      "an id with a slash",
      "partners add a/b --name N --scopes all --purposes all --per-minute 1 --per-day 1",
    ],
    ["an issuer that is no address", "serve --port 0 --issuer verify.example.gov"],
    ["a site that is none", "serve --port 0 --site /dev/null"],
    ["a database of another kind", "keys list --database mysql://127.0.0.1/x"],
    ["a file that is not there", "keys import /no/such/key.pem"],
  ])("%s: exit code 2 and one line", async (_name, words) => {
    const finished = await runTvs([...words.split(" "), "--data", used]);
    expectOneLine(finished, 2);
    expect(finished.stdout).toBe("");
  });
});

describe("what is not known is exit code 1", () => {
  test.each([
    "partners show nobody",
    "partners key revoke abcdefghijkl",
    "teachers show A/B/C/D",
    "teachers revoke 4242 --reason none",
    "attestations show 00000000-0000-7000-8000-000000000000",
    "attestations list --partner nobody",
    "keys compromise nokid --since 2026-01-01T00:00:00Z",
  ])("tvs %s", async (words) => {
    expectOneLine(await runTvs([...words.split(" "), "--data", used]), 1);
  });
});

describe("--json", () => {
  test.each(["keys history", "partners list", "policy show", "status", "teachers sweep"])(
    "tvs %s prints exactly one value",
    async (words) => {
      const finished = await runTvs([...words.split(" "), "--json", "--data", used]);
      expect({ code: finished.code, stderr: finished.stderr }).toEqual({ code: 0, stderr: "" });
      expect(typeof finished.json<unknown>()).toBe("object");
    },
  );

  // On Bun a write is called done before a reader through a pipe has all of it.
  test("a long output reaches a slow reader whole", async () => {
    const [file, keys] = [join(folder, "envelopes.json"), join(folder, "no-keys.json")];
    const count = 450;
    await Bun.write(file, JSON.stringify(Array.from({ length: count }, () => ({ signature: "a.b.c" }))));
    await Bun.write(keys, '{"keys":[]}');
    const words = [...programWords, "verify", file, "--jwks", keys, "--issuer", "https://a.example"];
    const piped = ["sh", "-c", '"$@" | cat', "sh", ...words, "--audience", "a", "--json"];
    const text = await new Response(Bun.spawn(piped, { stdout: "pipe" }).stdout).text();
    const lines = text.trimEnd().split("\n");
    expect(lines).toHaveLength(count);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ valid: false });
    expect(text.length).toBeGreaterThan(256 * 1024);
  });
});

test("a key id that begins with a dash is an operand, not options", async () => {
  const words = ["keys", "compromise", `-_${"a".repeat(41)}`, "--since", "2026-01-01T00:00:00Z"];
  const unknown = await runTvs([...words, "--data", used]);
  expectOneLine(unknown, 1);
  expect(unknown.stderr).toContain("no key has this kid");
  expectOneLine(await runTvs([...words.slice(0, 3), "--data", used]), 2);
});
