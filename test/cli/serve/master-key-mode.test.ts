import { expect, setDefaultTimeout, test } from "bun:test";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { withTempDir } from "../../harness/folder.ts";
import { patienceMs, startService } from "../../harness/program.ts";
import { makeRegister } from "../../harness/service.ts";

setDefaultTimeout(patienceMs);

test("serve warns of a master key that other users may read, with the command that closes it", () =>
  withTempDir(async (folder) => {
    await makeRegister(folder);
    const file = join(folder, "master.key");
    for (const [mode, isOpen] of [
      [0o600, false],
      [0o644, true],
    ] as const) {
      await chmod(file, mode);
      const service = await startService({ dataDir: folder });
      expect(await service.stop()).toBe(0);
      expect(service.stderr().includes(`open to other users (mode 0644)`)).toBe(isOpen);
      expect(service.stderr().includes(`chmod 600 ${file}`)).toBe(isOpen);
    }
  }));
