import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import words from "../../data/commands.json" with { type: "json" };
import { readServeConfig } from "../../src/config.ts";
import { withTempDir } from "../harness/folder.ts";

const folder = join(import.meta.dir, "../../data/systemd");
const names = readdirSync(folder).sort();
const units = names.filter((name) => name !== "tvs.env");
const textOf = (name: string) => readFileSync(join(folder, name), "utf8");
const analyze = Bun.which("systemd-analyze");

test("the folder has the service, its settings, and a service and a timer for backups and for imports", () => {
  const jobs = ["tvs-backup.service", "tvs-backup.timer", "tvs-import.service", "tvs-import.timer"];
  expect(names).toEqual([...jobs, "tvs.env", "tvs.service"]);
});

test.skipIf(analyze === null)("systemd finds nothing wrong with the units", () =>
  withTempDir(async (copies) => {
    // systemd looks for the program too, which is not installed here.
    const programs = /\/usr\/(local\/bin\/tvs|bin\/curl)/g;
    for (const name of units)
      writeFileSync(join(copies, name), textOf(name).replaceAll(programs, "/bin/true"));
    for (const name of units) {
      const command = [analyze ?? "", "verify", "--man=no", join(copies, name)];
      const { exitCode, stderr } = Bun.spawnSync(command, { stderr: "pipe" });
      expect({ name, exitCode, said: stderr.toString() }).toEqual({ name, exitCode: 0, said: "" });
    }
  }),
);

test("the jobs are hardened as the service is", () => {
  const hardening = (name: string) => textOf(name).split("UMask=0077\n")[1]?.split("\n[Install]")[0]?.trim();
  const service = hardening("tvs.service");
  for (const line of ["NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "MemoryMax=75%"])
    expect(service?.split("\n")).toContain(line);
  for (const name of ["tvs-backup.service", "tvs-import.service"]) {
    expect([name, hardening(name)]).toEqual([name, service]);
    expect(textOf(name)).toContain("\nUser=tvs\nGroup=tvs\n");
  }
});

test("the settings are what serve understands, and a proxy deletes the Client-Cert of callers", () => {
  const text = textOf("tvs.env");
  const pairs = text.split("\n").filter((line) => /^#?TVS_\w+=./.test(line));
  const environment = Object.fromEntries(
    pairs.map((line) => line.replace("#", "").split(/=(.*)/) as [string, string]),
  );
  expect(readServeConfig({}, environment)).toMatchObject({
    ...{ dataDir: "/var/lib/tvs", port: 8080, adminPort: 9464, accessLog: true },
    ...{ issuer: "https://verify.example.gov", trustedProxies: ["127.0.0.1"] },
  });
  expect(text).toContain('proxy_set_header Client-Cert "";');
  expect(text).toContain("header_up -Client-Cert");
  const help = words.serve.options["client-cert-from"];
  expect(help).toContain("Each must delete the Client-Cert that callers send");
});
