import { describe, expect, test } from "bun:test";
import { copyFileSync, writeFileSync } from "node:fs";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { makeRegister } from "../../harness/service.ts";
import { noServer, startServer } from "../../harness/sqld.ts";

/** A command that has done nothing but say why, in one line. */
function refusal(words: RegExp) {
  return {
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(new RegExp(`^tvs: [^\n]*${words.source}[^\n]*\n$`)),
  };
}

type Moved = {
  from: string;
  to: string;
  tables: { name: string; rows: number; sha256: string }[];
  rows: number;
};

describe.concurrent("tvs migrate", () => {
  test.skipIf(noServer !== undefined)("moves a register to a server and back, and says what comes next", () =>
    withTempDir(async (folder) => {
      const [dataDir, last] = [`${folder}/data`, `${folder}/last`];
      await makeRegister(dataDir);
      const server = await startServer();
      const there = await runTvs(["migrate", "--to", server.url], { dataDir });
      expect([there.code, there.stdout]).toEqual([
        0,
        expect.stringMatching(/signing_keys +2 +[0-9a-f]{64}\n/),
      ]);
      expect(there.stderr).toContain(`every node needs ${dataDir}/master.key in its own --data`);
      expect(there.stderr).toContain(`tvs serve --data ${dataDir} --database ${server.url}\n`);
      expect(await runTvs(["status"], { dataDir })).toMatchObject(refusal(/was moved to http:/));
      const over = ["--database", server.url, "--json"];
      expect((await runTvs(["keys", "list", ...over], { dataDir })).json<unknown[]>().length).toBe(2);
      writeFileSync(`${dataDir}/log.checkpoint`, "");
      const back = await runTvs(["migrate", "--to", `file:${last}/tvs.db`, ...over], { dataDir });
      const { from, to, tables, rows } = back.json<Moved>();
      expect({ from, to }).toEqual({ from: server.url, to: `file:${last}/tvs.db` });
      expect(rows).toBe(tables.reduce((sum, one) => sum + one.rows, 0));
      for (const { name, sha256 } of tables) expect(there.stdout).toMatch(new RegExp(`${name} .*${sha256}`));
      expect(back.stderr).toContain(`install -m 600 ${dataDir}/master.key ${last}/master.key\n`);
      expect(back.stderr).toContain(`install -m 600 ${dataDir}/log.checkpoint ${last}/log.checkpoint\n`);
      copyFileSync(`${dataDir}/master.key`, `${last}/master.key`);
      expect(await runTvs(["status"], { dataDir: last })).toMatchObject({ code: 0 });
      await server.stop();
    }),
  );

  test("names the token of the place that refuses it, and not that of the other one", () =>
    withTempDir(async (folder) => {
      const dataDir = `${folder}/data`;
      await makeRegister(dataDir);
      await using server = Bun.serve({ port: 0, fetch: () => new Response("no", { status: 401 }) });
      const to = ["migrate", "--to", `http://127.0.0.1:${server.port}`];
      const env = { TVS_DATABASE_TOKEN: "good" };
      await expectRefusal(runTvs(to, { dataDir, env }), 2, "give it in TVS_TO_TOKEN\n");
      const wrong = await runTvs(to, { dataDir, env: { ...env, TVS_TO_TOKEN: "wrong" } });
      expect(wrong).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("does not accept the token in TVS_TO_TOKEN\n"),
      });
      const here = `http://127.0.0.1:${server.port}`;
      const from = ["migrate", "--database", here, "--to", `file:${folder}/new/tvs.db`];
      const source = await runTvs(from, { dataDir, env: { ...env, TVS_TO_TOKEN: "wrong" } });
      expect(source.stderr).toContain("does not accept the token in TVS_DATABASE_TOKEN\n");
    }));

  test("refuses the place where the register is, and one with another master key", () =>
    withTempDir(async (folder) => {
      const dataDir = `${folder}/data`;
      await makeRegister(dataDir);
      const same = await runTvs(["migrate", "--to", `file:${dataDir}/tvs.db`], { dataDir });
      expect(same).toMatchObject(refusal(/--to must name another place/));
      await Bun.write(`${folder}/other/master.key`, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n");
      const other = await runTvs(["migrate", "--to", `file:${folder}/other/tvs.db`], { dataDir });
      expect(other).toMatchObject(refusal(/is the master key of another register/));
      const none = await runTvs(["migrate"], { dataDir });
      expect(none).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^tvs: --to \(TVS_TO\) is missing/),
      });
      const path = await runTvs(["migrate", "--to", `${folder}/new.db`], { dataDir });
      expect(path).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^tvs: --to \(TVS_TO\) must begin/),
      });
      const away = await runTvs(["migrate", "--to", "http://127.0.0.1:9"], { dataDir });
      expect(away).toMatchObject(refusal(/correct --to \(TVS_TO\)/));
    }));
});
