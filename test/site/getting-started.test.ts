import { expect, test } from "bun:test";
import { defaultSite } from "../../src/domain/site.ts";
import { sharedTestService } from "../harness/service.ts";

const path = "/v1/inter-agency/getting-started";

const world = sharedTestService();

test("the getting-started page of a live service uses the service's current issuer URL", async () => {
  const html = await (await world.call(path)).text();
  expect(html).toContain("&quot;https://teachers.example/v1/inter-agency/$call&quot;");
  expect(html).toContain("--issuer https://teachers.example ");
  await world.operator.stores.settings.write({ issuer: "https://moved.example" });
  await world.service.configuration.refresh();
  expect(await (await world.call(path)).text()).toContain(
    "curl --fail-with-body -sSO https://moved.example/v1/",
  );
});

test("the getting-started page of a live service warns that calls are charged, and shows no key and no made-up teachers", async () => {
  const response = await world.call(path);
  const html = await response.text();
  expect(html).toContain("This is the live service.");
  expect(html).toContain("API_KEY=&#39;tvs_live_YOUR_KEY&#39;");
  expect(html).not.toContain("Teachers to try");
  expect(response.headers.get("Cache-Control")).toBe("no-store");
});

test("the getting-started page of a live service allows only its own script file, and changes the programming language without a script", async () => {
  const response = await world.call(path);
  const policy = response.headers.get("Content-Security-Policy");
  expect(policy).toStartWith("default-src 'none'; style-src 'sha256-");
  expect(policy).toMatch(/script-src 'self'(;|$)/);
  const html = await response.text();
  expect(html).not.toMatch(/<script(?![^>]* src=)|\son\w+=|\sstyle=/);
  const languages = [...html.matchAll(/href="\?code=(\w+)#call"/g)].map(([, id]) => id);
  expect(languages).toContain("python");
  for (const language of languages) {
    const chosen = await (await world.call(`${path}?code=${language}`)).text();
    expect(chosen).toContain(`/v1/inter-agency/examples/${language}/`);
  }
});

test("the getting-started page of a live service links to the operator's contact if the site has one", async () => {
  const withLink = async () => (await (await world.call(path)).text()).split('href="#contact"').length - 1;
  expect(await withLink()).toBe(0);
  const site = { ...defaultSite, contact: { email: "help@council.example" } };
  await world.operator.stores.settings.write({ site: JSON.stringify(site) });
  await world.service.configuration.refresh();
  expect(await withLink()).toBe(6);
  expect(await (await world.call(path)).text()).toContain('id="contact"');
});
