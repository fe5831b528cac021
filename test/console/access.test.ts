import { expect, test } from "bun:test";
import { pathOf, sharedTestConsole } from "../harness/console.ts";
import { catchError } from "../harness/rejection.ts";

const world = sharedTestConsole();

test("a one-time link opens the console, sets a strict cookie, and redirects to a URL without the token", async () => {
  const entered = await world.call(pathOf(await world.newLink()));
  expect(entered.status).toBe(303);
  const home = String(entered.headers.location);
  expect(home).toMatch(/^\/s\/[\w-]{22}\/$/);
  const [cookie = ""] = entered.cookies;
  expect(cookie).toMatch(
    /^tvs_console=[\w-]{43}; Max-Age=43200; Path=\/s\/[\w-]{22}\/; HttpOnly; SameSite=Strict$/,
  );
  const page = await world.call(home, { headers: { Cookie: cookie.replace(/;.*$/, "") } });
  expect(page.status).toBe(200);
  expect(page.text).toContain("https://teachers.example");
  expect(page.text).not.toContain("token=");
});

test("a one-time link that was already used gets 410, with the command that prints a new link", async () => {
  const link = await world.newLink();
  const { home } = await world.signIn(link);
  const again = await world.call(pathOf(link));
  expect(again.status).toBe(410);
  expect(again.headers["set-cookie"]).toBeUndefined();
  expect(again.headers["content-type"]).toStartWith("text/html");
  expect(again.text).toContain("This link was used already");
  expect(again.text).toContain(`tvs console --data ${world.folder}`);
  expect(again.text).not.toContain(home);
});

test("a session cookie opens only the pages below the path of its own session", async () => {
  const { home, cookie } = await world.signIn();
  const other = await world.signIn();
  expect(other.home).not.toBe(home);
  const headers = { Cookie: cookie };
  expect((await world.call(`${home}teachers`, { headers })).status).toBe(200);
  const unknown = `/s/${"A".repeat(22)}/`;
  for (const page of ["", "teachers", "live.json", "nowhere"]) {
    const signedOut = await world.call(`${home}${page}`);
    expect(signedOut.status).toBe(page === "nowhere" ? 404 : 401);
    for (const path of [other.home, unknown]) {
      const { status, text } = await world.call(`${path}${page}`, { headers });
      expect([status, text]).toEqual([signedOut.status, signedOut.text]);
    }
    expect((await world.call(`/${page}`, { headers })).status).toBe(page === "" ? 401 : 404);
  }
});

test("a one-time link begins a session of twelve hours", async () => {
  const session = await world.signIn();
  world.forward(12 * 3_600_000 - 1);
  expect((await session.get("/")).status).toBe(200);
  world.forward(1);
  expect((await session.get("/")).status).toBe(401);
});

test("the console without a session explains how to get a link, and shows nothing else", async () => {
  const page = await world.call("/");
  expect(page.status).toBe(401);
  expect(page.text).toContain("tvs console --data");
  expect(page.text).not.toContain("teachers.example");
  const { home } = await world.signIn();
  const configuration = await world.call(`${home}live.json`);
  expect(configuration.status).toBe(401);
  expect(JSON.parse(configuration.text)).toEqual({
    statusCode: 401,
    message: `this session has ended; tvs console --data ${world.folder} prints a new link`,
  });
  const forged = { Cookie: `tvs_console=${"A".repeat(43)}` };
  expect((await world.call(`${home}live.json`, { headers: forged })).status).toBe(401);
});

test("any program on this machine can read the metrics without a session", async () => {
  const { status, headers } = await world.call("/metrics");
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(headers["access-control-allow-origin"]).toBeUndefined();
  const proxied = await world.call("/metrics", { headers: { "X-Forwarded-For": "203.0.113.9" } });
  expect(proxied.status).toBe(403);
});

test("the console answers only GET and HEAD", async () => {
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    const answer = await world.call("/", { method });
    expect([answer.status, answer.headers.allow]).toEqual([405, "GET, HEAD"]);
    expect(JSON.parse(answer.text)).toEqual({
      statusCode: 405,
      message: "the console only reads: GET and HEAD",
    });
  }
  const head = await world.call("/metrics", { method: "HEAD" });
  expect([head.status, head.text]).toEqual([200, ""]);
});

test("a console page loads only the console's own files, and cannot be framed by another site", async () => {
  const paths = ["/", "/open", "/metrics", "/s/x/", "/s/x/live.json", "/console.js", "/nowhere"];
  for (const path of paths) {
    const { headers } = await world.call(path);
    const policy = String(headers["content-security-policy"]);
    for (const one of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
      expect(policy.split("; ")).toContain(one);
    expect(policy).not.toContain("unsafe");
    expect(headers["referrer-policy"]).toBe("no-referrer");
  }
  expect((await world.call("/nowhere")).status).toBe(404);
});

test("the console answers a browser's refused request with a page that links to the console", async () => {
  const headers = { Accept: "text/html" };
  for (const [path, method, status, home] of [
    ["/nowhere", "GET", 404, "/"],
    ["/", "PUT", 405, "/"],
    ["/s/x/nowhere/at/all", "GET", 404, "/s/x/"],
    ["/s/x/teachers", "PUT", 405, "/s/x/"],
  ] as const) {
    const answer = await world.call(path, { headers, method });
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(`<a href="${home}">Go to the console</a>`);
  }
  const elsewhere = await world.call("/", { headers: { ...headers, Via: "1.1 proxy" } });
  expect([elsewhere.status, elsewhere.text.includes("SSH tunnel.")]).toEqual([403, true]);
});

test("the console listens only on 127.0.0.1", async () => {
  const error = (await catchError(world.call("/metrics", { host: "127.0.0.2" }))) as { code?: string };
  expect(error.code).toBe("ECONNREFUSED");
});
