import { test } from "bun:test";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";

test("a 64 MiB file given as a key, a certificate or a policy is refused in one line", () =>
  withTempDir(async (folder) => {
    const [file, body] = [join(folder, "large.pem"), join(folder, "body")];
    writeFileSync(file, "");
    writeFileSync(body, "{}");
    truncateSync(file, 64 * 1024 * 1024);
    const signed = ["--signature", `t=1,v1=${"0".repeat(64)}`, "--secret", `@${file}`];
    const lines = [
      ["partners", "cert", "add", "agency", file],
      ["keys", "import", file],
      ["policy", "check", file],
      ["serve", "--port", "0", "--tls-port", "0", "--tls-cert", file, "--tls-key", file],
      ["verify-webhook", body, ...signed],
    ];
    for (const line of lines) {
      const refused = runTvs(line, { dataDir: join(folder, "data") });
      await expectRefusal(refused, 2, /large\.pem is larger than 1 MiB; give the right file\n$/);
    }
  }));
