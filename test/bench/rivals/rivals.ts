import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { makeRegister, type ServedRegister } from "../register.ts";
import type { Cleanup } from "../setup.ts";
import type { Settings } from "./work.ts";

export type Rival = { readonly name: string; readonly url: string; readonly pid: number };

/** Which promise a rival keeps: an answered check survives a power failure, as tvs's do, or may not. */
const commits = [
  { isSynced: true, title: "synced commit" },
  { isSynced: false, title: "commit not synced" },
] as const;

/** Node knows no TypeScript; what is made here stays inside the project, where its packages are found. */
const builtFolder = fileURLToPath(new URL("../../../.cache/bench/", import.meta.url));
const sources = {
  "Fastify with jose": "./fastify.ts",
  "Express with jsonwebtoken": "./express.ts",
};

/**
 * Starts the rivals on Node, with a synced commit and without, each on a copy of the register of its own, and makes
 * sure that they do the same work.
 * @returns none where there is no Node
 * @throws Error when a rival answers something else than tvs
 */
export async function startRivals(tvs: ServedRegister, cleanup: Cleanup): Promise<Rival[]> {
  if (Bun.which("node") === null) return [];
  const rivals: Rival[] = [];
  for (const [library, source] of Object.entries(sources)) {
    const entry = fileURLToPath(new URL(source, import.meta.url));
    const format = { target: "node", format: "esm", packages: "external" } as const;
    const built = await Bun.build({ entrypoints: [entry], outdir: builtFolder, ...format });
    for (const { isSynced, title } of commits) {
      const { dataDir } = await makeRegister(tvs.program, { teachers: tvs.teachers, cleanup });
      const settings: Settings = { file: `${dataDir}/tvs.db`, apiKey: tvs.apiKey, isSynced };
      const started = await start(built.outputs[0]?.path ?? "", JSON.stringify(settings), cleanup);
      const rival = { name: `${library}, ${title}`, ...started };
      await requireSameAnswers(tvs, rival);
      rivals.push(rival);
    }
  }
  return rivals;
}

async function start(file: string, settings: string, cleanup: Cleanup) {
  const child = Bun.spawn(["node", file, settings], {
    stdout: "pipe",
    stderr: "inherit",
    env: { ...process.env, NODE_ENV: "production" },
  });
  cleanup(async () => {
    child.kill();
    await child.exited;
  });
  for await (const chunk of child.stdout) {
    const url = /^listening on (\S+)/.exec(new TextDecoder().decode(chunk))?.[1];
    if (url !== undefined) return { url, pid: child.pid };
  }
  throw new Error(`${file} did not start`);
}

type Answer = { status: number; body: { result?: unknown; signature?: string } };

async function ask(url: string, apiKey: string, regNo: string): Promise<Answer> {
  const response = await fetch(`${url}/v1/inter-agency/eligibility-check`, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
    body: JSON.stringify({ identifier: { regNo }, purpose: "GENERAL_PUBLIC_VERIFICATION" }),
  });
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

/** A valid licence, an expired and a revoked one, a teacher of the old register, and nobody. */
const asked = ["000001", "000003", "000007", "000011", "000000"].map((number) => `TR/2020/LA/${number}`);

async function requireSameAnswers(tvs: ServedRegister, rival: Rival): Promise<void> {
  const { apiKey } = tvs;
  const wrongKey = `${apiKey.slice(0, -1)}!`;
  const questions = [
    ...asked.map((regNo) => ({ regNo, apiKey })),
    { regNo: asked[0] ?? "", apiKey: wrongKey },
  ];
  for (const { regNo, apiKey } of questions) {
    const wanted = await ask(tvs.service.url, apiKey, regNo);
    const given = await ask(rival.url, apiKey, regNo);
    const isSame =
      wanted.status === given.status &&
      isDeepStrictEqual(wanted.body.result, given.body.result) &&
      isDeepStrictEqual(given.body.result, signedResult(given.body.signature));
    if (!isSame)
      throw new Error(`${rival.name} answers ${JSON.stringify(given)}, not ${JSON.stringify(wanted)}`);
  }
}

function signedResult(jws: string | undefined): unknown {
  if (jws === undefined) return undefined;
  return JSON.parse(Buffer.from(jws.split(".")[1] ?? "", "base64url").toString()).result;
}
