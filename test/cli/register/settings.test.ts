import { expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readSettingsInForce } from "../../../cli/register/settings.ts";
import { readCommandConfig } from "../../../src/config.ts";
import { findChangedSettings, serializeSettings } from "../../../src/domain/settings.ts";
import { defaultSite } from "../../../src/domain/site.ts";
import { withTempDir } from "../../harness/folder.ts";
import { makePng } from "../../harness/png.ts";

const logo = makePng(3, 2);

test("the option --site reads and stores a site file and its logo, and --site none removes them", () =>
  withTempDir(async (folder) => {
    await mkdir(join(folder, "site"));
    const file = join(folder, "site", "site.json");
    await writeFile(file, JSON.stringify({ name: "A Council", logo: "logo.png" }));
    await writeFile(join(folder, "site", "logo.png"), logo);
    const read = await readSettingsInForce(new Map(), readCommandConfig({ data: folder, site: file }, {}));
    expect(read.site.name).toBe("A Council");
    expect(read.site.logo).toEqual({ type: "image/png", data: logo.toString("base64") });

    const remembered = new Map(Object.entries(serializeSettings(read)));
    const unset = readCommandConfig({ data: folder }, {});
    expect((await readSettingsInForce(remembered, unset)).site).toEqual(read.site);
    const takenBack = readCommandConfig({ data: folder }, { TVS_SITE: "none" });
    expect((await readSettingsInForce(remembered, takenBack)).site).toEqual(defaultSite);
  }));

test("the error of a missing logo names the logo's file", () =>
  withTempDir(async (folder) => {
    const file = join(folder, "site.json");
    await writeFile(file, JSON.stringify({ name: "A Council", logo: "logo.png" }));
    const config = readCommandConfig({ data: folder, site: file }, {});
    await expect(readSettingsInForce(new Map(), config)).rejects.toMatchObject({
      code: "INPUT_UNREADABLE",
      message: `the logo logo.png beside ${file} cannot be read: check the path`,
    });
  }));

test("status lists are on in a sandbox and off in a live service, unless a setting says otherwise", async () => {
  const inForce = async (stored: Record<string, string>, flags: Record<string, string>) =>
    (await readSettingsInForce(new Map(Object.entries(stored)), readCommandConfig(flags, {}))).statusList;
  expect(await inForce({}, {})).toBe(false);
  expect(await inForce({}, { sandbox: "on" })).toBe(true);
  expect(await inForce({ status_list: "off" }, { sandbox: "on" })).toBe(false);
  expect(await inForce({ status_list: "off" }, { "status-list": "on" })).toBe(true);
  expect(await inForce({ status_list: "on" }, {})).toBe(true);
});

test("a starting service stores only the settings whose values changed", async () => {
  const first = serializeSettings(await readSettingsInForce(new Map(), readCommandConfig({}, {})));
  expect(findChangedSettings(first, new Map())).toEqual(first);
  const remembered = new Map(Object.entries(first));
  const again = async (flags: Record<string, string>) =>
    findChangedSettings(
      serializeSettings(await readSettingsInForce(remembered, readCommandConfig(flags, {}))),
      remembered,
    );
  expect(await again({})).toEqual({});
  expect(await again({ "status-list": "on" })).toEqual({ status_list: "on" });
});
