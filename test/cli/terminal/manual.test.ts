import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { groups, titleOf, topics } from "../../../src/manual.ts";
import { reasons } from "../../../src/partner/contract.ts";
import { runTvs } from "../../harness/command.ts";
import { expectRefusal } from "../../harness/refusal.ts";

const folder = join(import.meta.dir, "../../../data/help");

describe("the manual", () => {
  test("has every file of data/help, each with a title and a summary", () => {
    const files = readdirSync(folder).sort();
    expect(topics.map(({ name }) => `${name}.md`).sort()).toEqual(files);
    for (const topic of topics) {
      // The table of the page errors is made from the codes.
      const file = topic.name === "errors" ? topic.text.replace(/^\|.*\n/gm, "") : topic.text;
      expect(file).toBe(readFileSync(join(folder, `${topic.name}.md`), "utf8"));
      expect(topic.text.startsWith(`# ${titleOf(topic)}\n`)).toBe(true);
      expect([topic.name, topic.summary.length > 10 && topic.summary.length < 80]).toEqual([
        topic.name,
        true,
      ]);
    }
  });
});

test("the manual explains every reason of an answer, in the contract's order", () => {
  const page = readFileSync(join(folder, "register.md"), "utf8");
  expect([...page.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, reason]) => reason ?? "")).toEqual([...reasons]);
});

describe("tvs help", () => {
  test("tvs help lists every topic under its group, and leaves the commands to --help", async () => {
    const { stdout, code } = await runTvs(["help"]);
    expect(code).toBe(0);
    expect(stdout).not.toContain("RUN THE SERVICE");
    expect(stdout).toContain("`tvs --help` lists the commands");
    expect(stdout.split("\n").length).toBeLessThan(topics.length + groups.length + 6);
    for (const { title } of groups) expect(stdout).toMatch(new RegExp(`^${title.toUpperCase()}$`, "m"));
    for (const { name, summary } of topics) {
      expect(stdout).toMatch(new RegExp(`^ {2}${name} +${summary.slice(0, 20)}`, "m"));
    }
  });

  test("TOPIC is laid out to be read where it is piped too, without marks of Markdown", async () => {
    const { stdout, code } = await runTvs(["help", "privacy"]);
    expect(code).toBe(0);
    expect(stdout).not.toMatch(/^#|^\||```|\]\(/m);
    expect(stdout).toStartWith("What is stored, and for how long\n\n");
    expect(stdout).toContain("evidence log (`tvs help evidence`)");
    expect(stdout.split("\n").filter((line) => Bun.stringWidth(line) > 80)).toEqual([]);
  });

  test("of a word that names a topic and a command is both", async () => {
    const [both, command] = await Promise.all([runTvs(["help", "keys"]), runTvs(["keys", "--help"])]);
    expect(both.stdout).toStartWith("Signing keys and the master key\n");
    expect(both.stdout).toEndWith(`\n\nThe command tvs keys\n\n${command.stdout}`);
  });

  test.each([
    ["bakcup", "backup"],
    ["acess-log", "access-log"],
    ["rooster", "roster"],
    ["revoke", "teachers revoke"],
    ["version", "--version"],
  ])("%s is answered with what was probably meant: %s", async (given, meant) => {
    await expectRefusal(runTvs(["help", given]), 2, `did you mean ${meant}?`);
  });
});

test("tvs help of a word that names nothing lists the topics, in one line", async () => {
  const names = topics.map(({ name }) => name).join(", ");
  await expectRefusal(runTvs(["help", "nosuch"]), 2, `no command or topic "nosuch"; the topics are ${names}`);
});

test("a link to a place in the same page is printed as its words alone", async () => {
  const { stdout } = await runTvs(["help", "service"]);
  expect(stdout).not.toMatch(/\(#\w/);
});
