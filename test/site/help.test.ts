import { expect, test } from "bun:test";
import { headingIdOf, manualTopicGroups, manualTopics, topicTitleOf } from "../../src/manual.ts";
import { sharedTestService } from "../harness/service.ts";

const folder = "/v1/inter-agency/help/";

const world = sharedTestService();

const textOf = async (path: string) => (await world.call(path)).text();

test("the manual's index lists every topic under its group, with and without a slash at the end of the URL", async () => {
  const html = await textOf(folder);
  for (const { title } of manualTopicGroups) expect(html).toContain(`<h2>${title}</h2>`);
  for (const topic of manualTopics)
    expect(html).toContain(`<a href="${topic.name}">${topicTitleOf(topic)}</a>`);
  const bare = await world.call(folder.slice(0, -1));
  expect(bare.status).toBe(308);
  expect(
    new URL(bare.headers.get("Location") ?? "", `http://service.test${folder.slice(0, -1)}`).pathname,
  ).toBe(folder);
});

test.each(manualTopics.map(({ name }) => name))(
  "the manual's page %s has its title, its headings with ids, and the site's layout",
  async (name) => {
    const response = await world.call(folder + name);
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Security-Policy")).toContain("default-src 'none'");
    const html = await response.text();
    const topic = manualTopics.find((one) => one.name === name);
    expect(html).toMatch(/<h1 id="[\w-]+">/);
    for (const [, text = ""] of (topic?.text ?? "").matchAll(/^## (.+)$/gm))
      expect(html).toContain(`<h2 id="${headingIdOf(text)}">`);
    expect(html).toContain('<footer><nav class="width"');
  },
);
