import { beforeAll, expect, test } from "bun:test";
import { sharedTestConsole, type TestConsole } from "../harness/console.ts";
import { addPartner } from "../harness/service.ts";

/** An extract with sixty teachers, one of them revoked, and with two rows that the import rejects. */
const extract = [
  "reg_no,t_id,name,nin,phone,source,certificate_status,license_issue_date,license_expiry_date,license_revoked_on",
  ...Array.from({ length: 60 }, (_, n) => {
    const number = String(n + 1).padStart(6, "0");
    const revoked = n === 2 ? "2025-05-05" : "";
    return `TR/LA/2019/${number},${1001 + n},${n === 7 ? "=Ọlá Adéṣínà" : `Teacher ${number}`},999000${String(n).padStart(5, "0")},,new_system,VERIFIED,2019-03-01,2030-12-31,${revoked}`;
  }),
  "TR/LA/2019,5000,Short,,,new_system,VERIFIED,,,",
  "TR/LA/2019/900001,5001,Wrong,123,,new_system,VERIFIED,,,",
].join("\n");

const file = "/home/someone/extract.csv";

const world = sharedTestConsole();
let keyId: string;
let session: Awaited<ReturnType<TestConsole["signIn"]>>;
beforeAll(async () => {
  await world.load(file, extract, true);
  ({ keyId } = await addPartner(world.operator, "agency"));
  await world.service.configuration.refresh();
  session = await world.signIn();
});

const get = (path: string) => session.get(path);
async function find(term: string, after = "") {
  const body = new URLSearchParams({ term, after });
  const answer = await fetch(`http://127.0.0.1:${world.port}${session.home}teachers`, {
    method: "POST",
    headers: { cookie: session.cookie },
    body,
  });
  return { status: answer.status, text: await answer.text() };
}
const regNos = (text: string) => [...text.matchAll(/>(TR\/LA\/2019\/\d{6})</g)].map(([, regNo]) => regNo);

const paths = ["/teachers", "/teachers.csv", "/teacher?ref=1001", "/attestations", "/deliveries"];
paths.push("/imports", "/changes");

test.each(paths)("the console page %s gets 401 without a session", async (path) => {
  expect((await world.call(`${session.home}${path.slice(1)}`)).status).toBe(401);
  expect((await get(path)).status).toBe(200);
});

test("the console filters the list of changes by actor and by subject", async () => {
  const all = await get("/changes");
  expect(all.text).toContain("partner:agency");
  const [, actor = ""] = />((?:cli:\S+?|service))</.exec(all.text) ?? [];
  expect((await get(`/changes?by=${actor.replace("cli:", "")}&of=partner:agency`)).text).toContain(">added<");
  expect((await get("/changes?by=nobody")).text).toContain("No change matches.");
  expect((await get("/changes.csv?of=partner:agency")).text).toContain(`,${actor},partner:agency,added,`);
});

test("the console lists all teachers, page by page", async () => {
  const first = await get("/teachers");
  const [, next = ""] = /rel="next" href="([^"]+)"/.exec(first.text) ?? [];
  const second = await get(next);
  expect(regNos(first.text)).toHaveLength(50);
  expect(regNos(second.text)).toHaveLength(10);
  expect(second.text).not.toContain('rel="next"');
});

test("the console filters the list of teachers, and refuses a malformed filter with 400", async () => {
  expect(regNos((await get("/teachers?license=REVOKED")).text)).toEqual(["TR/LA/2019/000003"]);
  const wrong = await get("/teachers?expires=yesterday");
  expect(wrong.status).toBe(400);
  expect(wrong.text).toContain("Licence ends before must be a date, such as 2026-03-01");
  expect((await get("/teachers.csv?license=GOOD")).status).toBe(400);
});

test.each([
  ...["/changes?by=%00", "/changes?of=%00", "/attestations?partner=%00"],
  ...["/deliveries?partner=%00", "/teachers?state=%00", "/teachers?from=%00", "/changes.csv?by=%00"],
])("a NUL character in the query of the console page %s gets 400", async (path) => {
  expect((await get(path)).status).toBe(400);
});

test("the console's search finds a teacher by NIN, by registration number, and by a name without its accents", async () => {
  for (const term of ["99900000007", "1008", "TR/LA/2019/000008", "adesina", "=Ọlá"]) {
    const { text } = await find(term);
    expect(regNos(text)).toEqual(["TR/LA/2019/000008"]);
  }
  const many = await find("teacher");
  expect(regNos(many.text)).toHaveLength(50);
  const [, after = ""] = /name="after" value="([^"]+)"/.exec(many.text) ?? [];
  expect(regNos((await find("teacher", after)).text)).toHaveLength(9);
  expect((await find("?!")).status).toBe(400);
  expect((await find("a".repeat(20_000))).status).toBe(413);
});

test("the console exports a list as CSV, in which no cell is a formula", async () => {
  const { text, headers } = await get("/teachers.csv");
  expect(headers["content-disposition"]).toBe('attachment; filename="teachers.csv"');
  expect(text.trimEnd().split("\n")).toHaveLength(61);
  expect(text).toContain(",'=Ọlá Adéṣínà,");
  expect((await get("/teachers")).text).toContain("Save as CSV, 100,000 rows at most</a>");
  for (const path of ["/attestations", "/deliveries"])
    expect((await get(path)).text).toContain("Save as CSV, 2,000 rows at most</a>");
});

test("the console shows a teacher's record with its history, and no NIN", async () => {
  const { text } = await get("/teacher?ref=TR/LA/2019/000003");
  for (const said of ["Teacher 000003", "REVOKED", "2025-05-05", "by an extract", "NIN yes"])
    expect(text).toContain(said);
  expect(text).not.toContain("99900000002");
  expect((await get("/teacher?ref=77")).status).toBe(404);
  expect((await get("/teacher?ref=")).status).toBe(400);
});

test("the console shows which rows of an import were rejected, by error code and without their values", async () => {
  const imports = await get("/imports");
  expect(imports.text).toContain("extract.csv");
  expect(imports.text).not.toContain("someone");
  // The last link is the oldest import, because another test imports too.
  const [, address = ""] = [...imports.text.matchAll(/href="(\.\/import\?id=\d+)"/g)].at(-1) ?? [];
  const { text } = await get(address);
  expect(text).toContain("REG_NO_INVALID");
  expect(text).toContain("62 (reg_no)");
  expect(text).toContain("NIN_INVALID");
  expect(text).not.toContain("Wrong");
  expect((await get("/import?id=999")).status).toBe(404);
});

test("the console says that an import whose rows were all rejected changed nothing", async () => {
  expect((await get("/imports")).text).toContain(", some rejected</span>");
  await world.load(file, extract.replaceAll("TR/LA/2019", "TR/LA"), true);
  for (const path of ["/", "/imports"])
    expect((await get(path)).text).toContain(">nothing changed, all rejected</span>");
});

test("the console shows a partner's rights and keys, and answers 404 for an unknown partner", async () => {
  const { text } = await get("/partner?id=agency");
  for (const shown of ["eligibility", keyId, "API key", "partners show agency"])
    expect(text).toContain(shown);
  expect((await get("/partner?id=nobody")).status).toBe(404);
  expect((await get("/")).text).toContain('href="./partner?id=agency"');
  expect((await world.call(`${session.home}partner?id=agency`)).status).toBe(401);
});
