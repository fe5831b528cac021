import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
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

// On Bun a write is called done before a reader through a pipe has all of it.
test("a long JSON output reaches a slow reader whole", async () => {
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

test("a key id that begins with a dash is an operand, not options", async () => {
  const words = ["keys", "compromise", `-_${"a".repeat(41)}`, "--since", "2026-01-01T00:00:00Z"];
  const unknown = await runTvs([...words, "--data", used]);
  expectOneLine(unknown, 1);
  expect(unknown.stderr).toContain("no key has this kid");
  expectOneLine(await runTvs([...words.slice(0, 3), "--data", used]), 2);
});
