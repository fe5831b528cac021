import { expect, test } from "bun:test";
import { until } from "../../harness/eventually.ts";
import { withTempDir } from "../../harness/folder.ts";
import { startService } from "../../harness/program.ts";

test("a service that was told to wait says 503 in its health after SIGTERM, and answers everything else", () =>
  withTempDir(async (dataDir) => {
    const service = await startService({
      dataDir,
      args: ["--drain-wait", "1s", "--threads", "2", "--spread", "always"],
    });
    const status = async (path: string) => (await fetch(`${service.url}${path}`)).status;
    expect(await status("/v1/inter-agency/health")).toBe(200);
    service.signal("SIGTERM");
    await until(async () => (await status("/v1/inter-agency/health")) === 503);
    expect(await status("/v1/inter-agency/.well-known/jwks.json")).toBe(200);
    expect(await service.exited).toBe(0);
    expect(service.stderr()).toContain("leaving");
  }));

test("Ctrl-C ends a service at once, whatever it was told of SIGTERM", () =>
  withTempDir(async (dataDir) => {
    const service = await startService({ dataDir, args: ["--drain-wait", "15s", "--threads", "1"] });
    expect(await service.stop("SIGINT")).toBe(0);
    expect(service.stderr()).not.toContain("leaving");
  }));
