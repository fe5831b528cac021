import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { manualTopicGroups, manualTopics, topicTitleOf } from "../../../src/manual.ts";
import { ineligibilityReasons } from "../../../src/partner/contract.ts";
import { runTvs } from "../../harness/command.ts";
import { expectRefusal } from "../../harness/refusal.ts";

const folder = join(import.meta.dir, "../../../data/help");

test("every file of data/help is a page of the manual with a title and a summary", () => {
  const files = readdirSync(folder).sort();
  expect(manualTopics.map(({ name }) => `${name}.md`).sort()).toEqual(files);
  for (const topic of manualTopics) {
    // The table of the page errors is made from the codes.
    const file = topic.name === "errors" ? topic.text.replace(/^\|.*\n/gm, "") : topic.text;
    expect(file).toBe(readFileSync(join(folder, `${topic.name}.md`), "utf8"));
    expect(topic.text.startsWith(`# ${topicTitleOf(topic)}\n`)).toBe(true);
    expect([topic.name, topic.summary.length > 10 && topic.summary.length < 80]).toEqual([topic.name, true]);
  }
});

test("the manual explains every reason of an answer, in the contract's order", () => {
  const page = readFileSync(join(folder, "register.md"), "utf8");
  expect([...page.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, reason]) => reason ?? "")).toEqual([
    ...ineligibilityReasons,
  ]);
});

test("tvs help lists every topic under its group, and mentions --help for the commands", async () => {
  const { stdout, code } = await runTvs(["help"]);
  expect(code).toBe(0);
  expect(stdout).not.toContain("RUN THE SERVICE");
  expect(stdout).toContain("`tvs --help` lists the commands");
  expect(stdout.split("\n").length).toBeLessThan(manualTopics.length + manualTopicGroups.length + 6);
  for (const { title } of manualTopicGroups)
    expect(stdout).toMatch(new RegExp(`^${title.toUpperCase()}$`, "m"));
  for (const { name, summary } of manualTopics) {
    expect(stdout).toMatch(new RegExp(`^ {2}${name} +${summary.slice(0, 20)}`, "m"));
  }
});

test.each(manualTopics.map(({ name }) => name))(
  "tvs help %s shows no Markdown characters, and fits 80 columns",
  async (name) => {
    const { stdout, code } = await runTvs(["help", name]);
    expect(code).toBe(0);
    const [page = ""] = stdout.split("\nEXAMPLE");
    expect(page).not.toMatch(/^#|^\||```|\]\(/m);
    // The output of a command is shown as it is, however wide.
    const source = manualTopics.find((topic) => topic.name === name)?.text ?? "";
    const quoted = [...source.matchAll(/^```[\s\S]*?^```$/gm)].join("\n");
    const isPasted = (line: string) => /^ {2}\S/.test(line) || quoted.includes(`\n${line.slice(2)}\n`);
    const wide = page.split("\n").filter((line) => Bun.stringWidth(line) > 80 && !isPasted(line));
    // A list of names without a space between them cannot be broken.
    expect(wide.filter((line) => line.includes(" "))).toEqual([]);
  },
);

test("tvs help prints a link to another page as the command that prints that page", async () => {
  expect((await runTvs(["help", "privacy"])).stdout).toContain("evidence log (`tvs help evidence`)");
});

test.each([["doctor"], ["partners"], ["partners webhook set"]])(
  "tvs help %s ends with the command's --help text",
  async (words) => {
    const helped = await runTvs(["help", ...words.split(" ")]);
    const command = await runTvs([...words.split(" "), "--help"]);
    const page = manualTopics.some(({ name }) => name === words) ? `\n\nThe command tvs ${words}\n\n` : "";
    expect([helped.code, command.code]).toEqual([0, 0]);
    expect(helped.stdout).toEndWith(page + command.stdout);
    expect(helped.stdout.length > command.stdout.length).toBe(page !== "");
  },
);

const printed = ["alerts.yml", "grafana-dashboard.json"];

test.each(printed)("tvs help --print %s prints the source file, byte for byte", async (name) => {
  const stdout = readFileSync(join(folder, "..", name), "utf8");
  expect(await runTvs(["help", "--print", name])).toMatchObject({ code: 0, stdout });
});

const topics = manualTopics.map(({ name }) => name).join(", ");

test.each([
  ["bakcup", "did you mean backup?"],
  ["acess-log", "did you mean access-log?"],
  ["rooster", "did you mean roster?"],
  ["revoke", "did you mean teachers revoke?"],
  ["version", "did you mean --version?"],
  ["nosuch", `no command or topic "nosuch"; the topics are ${topics}`],
  ["--print", `one of ${printed.join(", ")}`],
  ["--print tvs.env", `one of ${printed.join(", ")}`],
  [`--print ${printed.join(" ")}`, `one of ${printed.join(", ")}`],
])("the refusal of tvs help %s names words that tvs help accepts", async (given, accepted) => {
  await expectRefusal(runTvs(["help", ...given.split(" ")]), 2, accepted);
});

test("tvs help prints a link within the same page as its text only", async () => {
  const { stdout } = await runTvs(["help", "service"]);
  expect(stdout).not.toMatch(/\(#\w/);
});
