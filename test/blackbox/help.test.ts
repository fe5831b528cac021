import { describe, expect, test } from "bun:test";
import { databaseOf } from "../harness/databases.ts";
import { programWords, runTvs } from "../harness/program.ts";
import { sharedUsedFolder } from "./used-folder.ts";

const folder = sharedUsedFolder();

describe.concurrent("output", () => {
  // Deno itself moves the cursor on a terminal; what counts here are colours and other attributes.
  const attributes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`);

  test("without a terminal there is no colour", async () => {
    const { stdout } = await runTvs(["keys", "list", "--data", folder.used], { env: { FORCE_COLOR: "1" } });
    expect(stdout).not.toMatch(attributes);
    const help = await runTvs(["keys", "list", "--help"]);
    expect(help.stdout).not.toMatch(attributes);
  });

  test("on a terminal there is, unless NO_COLOR is set", async () => {
    async function onTerminal(env: Record<string, string>): Promise<string> {
      let text = "";
      const child = Bun.spawn([...programWords, "keys", "list", "--data", folder.used], {
        env: {
          PATH: process.env.PATH ?? "",
          HOME: process.env.HOME ?? "",
          TERM: "xterm-256color",
          ...(await databaseOf(["--data", folder.used], {})),
          ...env,
        },
        terminal: {
          cols: 200,
          rows: 50,
          data: (_terminal, bytes) => {
            text += new TextDecoder().decode(bytes);
          },
        },
      });
      await child.exited;
      child.terminal?.close();
      return text;
    }
    expect(await onTerminal({})).toMatch(attributes);
    expect(await onTerminal({ NO_COLOR: "1" })).not.toMatch(attributes);
  });
});
