import { beforeEach, expect, test } from "bun:test";
import { knownTeacher, type PartnerName, sharedTestService } from "../harness/service.ts";

const path = "/v1/inter-agency/watch";
const regNos = (from: number, count: number) => Array.from({ length: count }, (_, n) => `N/O/N/${from + n}`);
const world = sharedTestService();

const ask = (at: string, method: string, body?: unknown, as: PartnerName = "full") =>
  world.call(`${path}${at}`, { as, method, ...(body === undefined ? {} : { body }) });
const all = (as: PartnerName = "full") => world.operator.watches.page(as, { after: "", limit: 9_999 });
beforeEach(async () => {
  for (const as of ["full", "unscoped"] as const)
    await world.operator.watches.change(as, { add: [], remove: await all(as) });
});

test.each([
  encodeURIComponent(knownTeacher.regNo),
  knownTeacher.regNo,
  knownTeacher.regNo.toLowerCase(),
  knownTeacher.regNo.replaceAll("/", "-"),
  `${encodeURIComponent(knownTeacher.regNo)}%20`,
])(
  "PUT and DELETE /watch normalise the registration number %s, and repeating a call changes nothing",
  async (written) => {
    for (const [method, watched] of [
      ["PUT", [knownTeacher.regNo]],
      ["PUT", [knownTeacher.regNo]],
      ["DELETE", []],
      ["DELETE", []],
    ] as const) {
      const answer = await ask(`/${written}`, method);
      expect([answer.status, await answer.text(), await all()]).toEqual([204, "", [...watched]]);
    }
  },
);

test("no answer of /watch reveals whether a teacher has the registration number", async () => {
  const answersFor = async (regNo: string) => {
    const calls: Parameters<typeof ask>[] = [
      [`/${regNo}`, "PUT"],
      ["", "GET"],
      ["", "POST", { add: [regNo] }],
      ["", "POST", { remove: [regNo] }],
    ];
    const told = [];
    for (const call of calls) {
      const answer = await ask(...call);
      const headers = [...answer.headers].filter(([name]) => !/request-id|ratelimit/.test(name));
      const text = (await answer.text()).replaceAll(regNo, "NUMBER");
      told.push([answer.status, headers, text]);
    }
    return told;
  };
  expect(await answersFor(knownTeacher.regNo)).toEqual(await answersFor("N/O/B/ODY"));
});

test("a partner reads only its own watch list, page by page, while the list changes", async () => {
  expect(await (await ask("", "POST", { add: regNos(1, 5) })).json()).toEqual({ watched: 5 });
  expect(await (await ask("", "POST", { add: ["O/T/H/ER"] }, "unscoped")).json()).toEqual({ watched: 1 });
  const page = async (query: string, as?: PartnerName) => (await ask(query, "GET", undefined, as)).json();
  const first = await page("?limit=2");
  expect(first).toEqual({ data: regNos(1, 2), iterator: expect.any(String), done: false });
  await ask("", "POST", { remove: ["N/O/N/2"], add: ["N/O/N/22", "A/A/A/1"] });
  const second = await page(`?limit=2&after=${first.iterator}`);
  expect([second.data, second.done]).toEqual([["N/O/N/22", "N/O/N/3"], false]);
  const last = await page(`?limit=2&after=${second.iterator}`);
  expect([last.data, last.done]).toEqual([regNos(4, 2), true]);
  expect(await page(`?after=${last.iterator}`)).toEqual({ data: [], iterator: last.iterator, done: true });
  // A cursor of another partner shows no number of that partner's list.
  expect(await page("?after=N/O/N/22", "unscoped")).toMatchObject({ data: ["O/T/H/ER"], done: true });
  expect((await page("?after=x")).statusCode).toBe(400);
  expect((await page("", "unscoped")).data).toEqual(["O/T/H/ER"]);
});

const many = regNos(0, 2_001);
const bad = [...regNos(0, 1_234), "A/B/C"];
const notInBoth = "add[1] must not be in remove as well";
const twoHalves = { add: many.slice(0, 1_000), remove: many.slice(1_000) };
const refused: [what: string, at: string, method: string, body: unknown, message: string][] = [
  ["a bad number", "", "POST", { add: bad }, "add[1234] must have four segments separated by /"],
  ["a number that is not text", "", "POST", { remove: [1] }, "remove[0] must be text"],
  ["a number in both lists", "", "POST", { add: ["a/b/c/d", "A/B/C/E"], remove: ["A/B/C/e"] }, notInBoth],
  ["too many in one list", "", "POST", { add: many }, "add must have at most 2000"],
  ["too many in both", "", "POST", twoHalves, "the body must have at most 2000"],
  ["neither of the two lists", "", "POST", { regNos: ["A/B/C/D"] }, "body must have add or remove"],
  ["a bad number in the path", "/A/B/C", "PUT", undefined, "regNo must have four segments"],
  ["a path that is not UTF-8", "/A/B/C/%ff", "DELETE", undefined, "regNo must be percent-encoded UTF-8"],
];
test.each(refused)(
  "a watch call with %s gets 400 and changes nothing",
  async (_, at, method, body, message) => {
    const before = await all();
    const answer = await ask(at, method, body);
    expect([answer.status, (await answer.json()).message]).toEqual([400, expect.stringContaining(message)]);
    const code = message.includes("at most") ? "BATCH_SIZE" : "REQUEST_INVALID";
    expect(answer.headers.get("X-Error-Code")).toBe(code);
    expect(await all()).toEqual(before);
  },
);

test("one call can watch 2,000 numbers, and a number beyond the watch limit gets 409", async () => {
  expect(await (await ask("", "POST", { add: many.slice(1) })).json()).toEqual({ watched: 2_000 });
  await world.operator.partners.update({ partnerId: "full", watchLimit: 2_001 });
  const codeOf = async (...call: Parameters<typeof ask>) => (await ask(...call)).headers.get("X-Error-Code");
  expect(await codeOf("", "POST", { add: ["X/1/1/1", "X/1/1/2"] })).toBe("WATCH_LIMIT");
  expect(await codeOf("/X/1/1/1", "PUT")).toBeNull();
  const over = await ask("/X/1/1/2", "PUT");
  expect([over.status, over.headers.get("X-Error-Code")]).toEqual([409, "WATCH_LIMIT"]);
  expect(await all()).toHaveLength(2_001);
});

test("a watch call is refused or accepted immediately after the operator disables or enables the partner", async () => {
  const { stores, clock } = world.operator;
  await stores.partners.disable("full", clock.now());
  expect([(await ask("/A/B/C/D", "PUT")).status, await all()]).toEqual([401, []]);
  await stores.partners.disable("full", null);
  expect([(await ask("/A/B/C/D", "PUT")).status, await all()]).toEqual([204, ["A/B/C/D"]]);
  expect((await ask("/A/B/C/E", "PUT", undefined, "spent")).status).toBe(429);
});
