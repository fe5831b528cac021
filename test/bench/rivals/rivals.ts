import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { type Cleanup, startServer } from "../cleanup.ts";
import type { ServedRegister } from "../register.ts";

/** The folder of the rival's JavaScript. It is in the project, because Node looks for npm packages in parent folders. */
const builtFolder = fileURLToPath(new URL("../../../.cache/bench/", import.meta.url));

/**
 * Starts the rival on Node over a copy of the register, and checks that it gives the same answers as tvs.
 * @returns null if Node is not installed
 * @throws Error if an answer differs
 */
export async function startRival(
  tvs: ServedRegister,
  cleanup: Cleanup,
): Promise<{ url: string; pid: number } | null> {
  if (Bun.which("node") === null) return null;
  const entry = fileURLToPath(new URL("./fastify.ts", import.meta.url));
  const format = { target: "node", format: "esm", packages: "external" } as const;
  const built = await Bun.build({ entrypoints: [entry], outdir: builtFolder, ...format });
  const settings = JSON.stringify({ file: tvs.copy, apiKey: tvs.apiKey });
  const rival = await startServer(["node", built.outputs[0]?.path ?? "", settings], cleanup);
  await requireSameAnswers(tvs, rival.url);
  return rival;
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

/** Registration numbers: a valid, an expired and a revoked licence, a teacher of the old register, and nobody. */
const numbers = ["000001", "000003", "000007", "000011", "000000"];

async function requireSameAnswers({ url, apiKey }: ServedRegister, rivalUrl: string): Promise<void> {
  const wrongKey = `${apiKey.slice(0, -1)}!`;
  const questions = [
    ...numbers.map((number) => ({ number, key: apiKey })),
    { number: "000001", key: wrongKey },
  ];
  for (const { number, key } of questions) {
    const wanted = await ask(url, key, `TR/2020/LA/${number}`);
    const given = await ask(rivalUrl, key, `TR/2020/LA/${number}`);
    const isSame =
      wanted.status === given.status &&
      isDeepStrictEqual(wanted.body.result, given.body.result) &&
      isDeepStrictEqual(given.body.result, signedResult(given.body.signature));
    if (!isSame) throw new Error(`the rival answers ${JSON.stringify(given)}, not ${JSON.stringify(wanted)}`);
  }
}

function signedResult(jws: string | undefined): unknown {
  if (jws === undefined) return undefined;
  return JSON.parse(Buffer.from(jws.split(".")[1] ?? "", "base64url").toString()).result;
}
