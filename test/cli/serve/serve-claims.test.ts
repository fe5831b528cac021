import { afterEach, expect, test } from "bun:test";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { withTempDir } from "../../harness/folder.ts";
import { programWords } from "../../harness/program.ts";
import { aTeacherWrite } from "../../harness/samples.ts";
import { withTestOperator } from "../../harness/service.ts";

/** A namespace of process ids of its own, as a container has; only root may make one. */
const apart = ["unshare", "-pf", "--mount-proc", "--kill-child"];
const cannotBeApart = spawnSync(apart[0] ?? "", [...apart.slice(1), "true"]).status !== 0;
const why = cannotBeApart ? " (not tried here: only root may make a namespace)" : "";

const started: ChildProcess[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = new Promise((done) => child.once("exit", done));
    child.kill("SIGKILL");
    await ended;
  }
});

type Serving = { readonly url: Promise<string>; readonly ended: Promise<{ code: number; stderr: string }> };

function serve(dataDir: string, more: readonly string[], within: readonly string[] = []): Serving {
  const own = [...programWords, "serve", "--port", "0", "--data", dataDir, ...more];
  const [command = "", ...args] = [...within, ...own];
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("TVS_"));
  const child = spawn(command, args, { env: Object.fromEntries(kept), stdio: ["ignore", "pipe", "pipe"] });
  started.push(child);
  const [url, ended] = [
    Promise.withResolvers<string>(),
    Promise.withResolvers<{ code: number; stderr: string }>(),
  ];
  let [stdout, stderr] = ["", ""];
  child.stderr?.on("data", (bytes) => {
    stderr += bytes;
  });
  child.stdout?.on("data", (bytes) => {
    stdout += bytes;
    const found = /listening on (\S+)\n/.exec(stdout)?.[1];
    if (found !== undefined) url.resolve(found);
  });
  child.once("close", (code) => {
    ended.resolve({ code: code ?? -1, stderr });
    url.reject(new Error(stderr));
  });
  url.promise.catch(() => {});
  return { url: url.promise, ended: ended.promise };
}

const isHealthy = async ({ url }: Serving) =>
  (await fetch(`${await url}/v1/inter-agency/health`)).status === 200;

test.skipIf(cannotBeApart)(
  `over a file, a service in a namespace of its own sees the lock of the other${why}`,
  () =>
    withTempDir(async (dataDir) => {
      await withTestOperator(dataDir, ({ stores }) =>
        stores.teachers.apply([aTeacherWrite("TR/2019/LA/000001", {})]),
      );
      const first = serve(dataDir, []);
      expect(await isHealthy(first)).toBe(true);
      const second = await serve(dataDir, [], apart).ended;
      expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining("another `tvs serve`") });
      expect(await isHealthy(first)).toBe(true);
    }),
);
