import { expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addServiceSettings } from "../../../cli/register/register.ts";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { makeRegister } from "../../harness/service.ts";

/** Makes a settings file like /etc/tvs/tvs.env. */
function withSettings(text: string, run: (file: string) => void): Promise<void> {
  return withTempDir(async (folder) => {
    const file = join(folder, "tvs.env");
    writeFileSync(file, text, { mode: 0o600 });
    run(file);
  });
}

const text =
  '# of the service\nTVS_DATA="/var/lib/tvs"\nTVS_PORT=9000\n#TVS_SANDBOX=1\nTVS_MASTER_KEY=sealed\n';

test("a command without --data reads only the register's location from the installed service's settings", () =>
  withSettings(text, (file) => {
    const place = { TVS_DATA: "/var/lib/tvs", TVS_MASTER_KEY: "sealed" };
    expect(addServiceSettings({}, { HOME: "/" }, { usual: file })).toEqual({
      file,
      environment: { HOME: "/", ...place },
    });
    const all = addServiceSettings({}, {}, { usual: file, all: true });
    expect(all.environment).toEqual({ ...place, TVS_PORT: "9000" });
    // An empty variable counts as unset.
    expect(addServiceSettings({}, { TVS_DATA: "" }, { usual: file }).environment).toEqual(place);
  }));

test.each([
  [{ data: "./here" }, {}],
  [{ database: "file:x.db" }, {}],
  [{ sandbox: true }, {}],
  [{}, { TVS_DATA: "/elsewhere" }],
  [{}, { TVS_DATABASE: "http://127.0.0.1:1" }],
  [{}, { TVS_SANDBOX: "true" }],
])("the installed service's settings are not read by a command with %j %j", (flags, environment) =>
  withSettings("unreadable", (file) => {
    chmodSync(file, 0o666);
    expect(addServiceSettings(flags, environment, { usual: file })).toEqual({ file: undefined, environment });
  }),
);

test("the installed service's settings are refused if other users can write the settings file", () =>
  withSettings(text, (file) => {
    for (const mode of [0o620, 0o602]) {
      chmodSync(file, mode);
      expect(() => addServiceSettings({}, {}, { usual: file })).toThrow("users other than root can write it");
    }
  }));

test.skipIf(process.geteuid?.() !== 0)(
  "the installed service's settings are refused if another user owns the settings file",
  () =>
    withSettings(text, (file) => {
      chmodSync(file, 0o640);
      chownSync(file, 4_242, 0);
      expect(() => addServiceSettings({}, {}, { usual: file })).toThrow("users other than root can write it");
    }),
);

test("a command without --data is refused if the current folder has a register and the installed service has another", () =>
  withTempDir(async (folder) => {
    const here = process.cwd();
    mkdirSync(join(folder, "data"));
    writeFileSync(join(folder, "data/tvs.db"), "x");
    writeFileSync(join(folder, "tvs.env"), text, { mode: 0o600 });
    process.chdir(folder);
    try {
      const read = () => addServiceSettings({}, {}, { usual: join(folder, "tvs.env") });
      expect(read).toThrow("there is a register in ./data, and another one of");
    } finally {
      process.chdir(here);
    }
  }));

test("a missing settings file of the installed service is ignored, unless TVS_SERVICE_SETTINGS names it", () =>
  withTempDir(async (folder) => {
    expect(addServiceSettings({}, {}, { usual: join(folder, "none") }).file).toBeUndefined();
    const TVS_SERVICE_SETTINGS = join(folder, "none.env");
    expect(() => addServiceSettings({}, { TVS_SERVICE_SETTINGS })).toThrow("cannot be read");
  }));

test("commands without --data use the register that the installed service's settings name", () =>
  withTempDir(async (folder) => {
    const dataDir = join(folder, "lib");
    await makeRegister(dataDir);
    const TVS_SERVICE_SETTINGS = join(folder, "tvs.env");
    writeFileSync(TVS_SERVICE_SETTINGS, `TVS_DATA=${dataDir}\n`, { mode: 0o640 });
    const env = { TVS_SERVICE_SETTINGS };
    const listed = await runTvs(["partners", "list", "--json"], { env });
    expect(listed).toMatchObject({ code: 0, stdout: "[]\n", stderr: "" });
    const { stdout } = await runTvs(["doctor", "--json"], { env });
    expect(stdout).toContain(`${dataDir}, mode 0700`);
  }));
