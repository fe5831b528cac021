import { Database } from "bun:sqlite";
import { beforeAll, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { reportTries } from "../harness/trial.ts";
import { teacher, teachers } from "./registry.ts";
import { api, sharedWorld, type World } from "./world.ts";

/**
 * Uses every feature once and then searches the data folder, the logs and the output of the commands. They may contain
 * no raw NIN, e-mail address or phone number, no key and no secret.
 */
const secrets = new Map<string, Buffer>();
let printed = "";

const person = {
  nin: "61234987650",
  email: "zainab.yakubu.secret@example.org",
  phone: "+2348075551234",
};
/** The stranger's number as people write it. */
const spacedPhone = "+234 816 999 8888";
const stranger = { nin: "69998887776", email: "unknown.person.secret@example.org", phone: "08169998888" };

async function use(...words: string[]) {
  const finished = await world.tvs(...words);
  expect({ words, code: finished.code, stderr: finished.stderr }).toMatchObject({ code: 0 });
  // A secret that a command prints once on purpose is not a leak. All other output is searched.
  printed += finished.stderr;
  return finished;
}

function keep(name: string, value: string | Buffer): void {
  expect(value.length).toBeGreaterThan(9);
  secrets.set(name, Buffer.from(value));
}

const world = sharedWorld({
  rows: [teacher("SE/CR/2020/00001", { ...person, t_id: "8880001", nin_verified: "true" }), teachers.valid],
  args: ["--access-log", "--public-per-minute", "1000"],
});

beforeAll(async () => {
  for (const [name, value] of Object.entries(person)) keep(`a teacher's ${name}`, value);
  for (const [name, value] of Object.entries(stranger)) keep(`a search for the ${name} of nobody`, value);
  keep("a phone number in groups", "816 999 8888");
  keep("the phone number without its prefix", "8075551234");
  keep("a search for a phone number without its prefix", "8169998888");

  const partner = await world.partner();
  keep("an API key's secret part", partner.apiKey.slice("tvs_live_".length + 12, -6));
  const issued = (await use("partners", "key", "issue", partner.id, "--json")).json<{ apiKey: string }>();
  keep("a second API key's secret part", issued.apiKey.slice("tvs_live_".length + 12, -6));

  const pem = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const der = pem.export({ type: "pkcs8", format: "der" });
  for (const [index, line] of der.toString("base64").match(/.{64}/g)?.entries() ?? []) {
    if (index % 5 === 1) keep(`line ${index} of a private key`, line);
  }
  keep("the middle of a private key", der.subarray(300, 340));
  keep("the primes of a private key", der.subarray(-200, -160));
  const file = await world.file("signing.pem", pem.export({ type: "pkcs8", format: "pem" }) as string);
  await use("keys", "import", file);
  await use("keys", "rotate", "--now");

  await askEverything(partner);
  const nothing = "keys list,partners list,attestations list,status".split(",");
  for (const words of nothing) printed += (await use(...words.split(" "), "--json")).stdout;
  printed += (await use("partners", "show", partner.id, "--json")).stdout;
  printed += (await use("teachers", "show", "8880001", "--json")).stdout;
  printed += (await use("teachers", "history", "8880001", "--json")).stdout;
  await world.restart({ kill: true });
  await askEverything(partner);
});

type Caller = Awaited<ReturnType<World["partner"]>>;

async function askEverything(partner: Caller): Promise<void> {
  for (const term of [...Object.values(person), ...Object.values(stranger)]) {
    const response = await world.get(`/teacher/verify-license?searchTerm=${encodeURIComponent(term)}`);
    expect(response.status).toBe(200);
    printed += await response.text();
  }
  const purpose = "GENERAL_PUBLIC_VERIFICATION";
  const context = {
    examBatch: `NIN ${person.nin}`,
    employerName: `call ${person.phone}, else ${spacedPhone}`,
    correlationId: stranger.email,
  };
  const question = (nin: string) => ({ identifier: { nin }, purpose, context, note: stranger.phone });
  const items = [question(person.nin), question(stranger.nin)];
  const answers = [
    await partner.post("/lookup/by-nin", { nin: person.nin }),
    await partner.post("/lookup/by-nin", { nin: stranger.nin }),
    await partner.post("/lookup/by-nin", { nin: `${person.nin}0` }),
    await partner.post("/eligibility-check", question(person.nin), {
      "Idempotency-Key": `nin-${person.nin}`,
    }),
    await partner.post("/eligibility-check", question(stranger.nin), { "Idempotency-Key": stranger.email }),
    await partner.post("/batch", { items }, { "Idempotency-Key": `batch ${person.phone}` }),
    // A NIN in the wrong member finds nobody, but must not be stored either.
    await partner.check({ tId: Number(person.nin) }),
    await partner.check({ tId: Number(stranger.nin) }),
    await partner.check({ regNo: `NI/N/2020/${stranger.nin}` }),
    await partner.get(`/lookup/by-tid/${stranger.nin}`),
    await partner.post("/batch", `{"items": [${person.nin}, "${person.email}"`),
    await partner.get(`/lookup/by-reg-no/${encodeURIComponent(person.email)}`),
    await world.get(`${api}/nothing/${person.nin}?email=${person.email}`),
    await world.get(`${api}/lookup/by-tid/1`, { Authorization: `Bearer ${partner.apiKey}x` }),
  ];
  for (const response of answers) printed += await response.text();
}

/** The content of every file below the data folder, and every row of the database. */
async function leftBehind(): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  for (const entry of await readdir(world.dataDir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) files.set(path, await readFile(path));
  }
  const database = new Database(join(world.dataDir, "tvs.db"), { readonly: true });
  files.set("the database, read whole", Buffer.from(database.serialize()));
  database.close();
  files.set("the logs", Buffer.from(world.logs()));
  files.set("what was answered and printed", Buffer.from(printed));
  return files;
}

test("the search for secrets covers a log and a database in which every feature left its data", async () => {
  const files = await leftBehind();
  expect(files.has(join(world.dataDir, "tvs.db"))).toBe(true);
  expect([...files.keys()].some((path) => path.endsWith("access.log"))).toBe(true);
  expect(files.get("the database, read whole")?.includes("SE/CR/2020/00001")).toBe(true);
  expect(files.get("the logs")?.includes("listening on")).toBe(true);
  expect(secrets.size).toBeGreaterThan(12);
});

test("no file, log or answer holds a secret, in plain text, base64 or hexadecimal", async () => {
  const found: string[] = [];
  const files = await leftBehind();
  reportTries({ secrets: secrets.size, files: files.size });
  for (const [path, bytes] of files) {
    for (const [name, value] of secrets) {
      // The stored envelopes are base64url, in which a value has three forms, one for each offset.
      for (const form of [value, value.toString("hex"), ...base64Forms(value)]) {
        if (bytes.includes(form)) found.push(`${name} in ${path}`);
      }
    }
    if (bytes.includes("PRIVATE KEY")) found.push(`a PEM header in ${path}`);
  }
  expect(found).toEqual([]);
});

/** The base64 forms of a value at each of the three offsets, without the characters that depend on its neighbours. */
function base64Forms(value: Buffer): string[] {
  return [0, 1, 2].map((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), value]).toString("base64url");
    return encoded.slice(Math.ceil((shift * 8) / 6), -2);
  });
}

test("the master key is only in the master key file", async () => {
  const text = (await readFile(join(world.dataDir, "master.key"), "utf8")).trim();
  const files = [...(await leftBehind())];
  const holders = files.filter(([, bytes]) => bytes.includes(text)).map(([path]) => path);
  expect(holders).toEqual([join(world.dataDir, "master.key")]);
});
