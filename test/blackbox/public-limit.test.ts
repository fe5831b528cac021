import { expect, test } from "bun:test";
import { roomInMinute } from "../harness/program.ts";
import type { Problem } from "./contract.ts";
import { readJson, sharedWorld } from "./world.ts";

const path = "/teacher/verify-license";
const perMinute = 60;
const world = sharedWorld({
  rows: [],
  args: ["--trusted-proxy", "127.0.0.1/32", "--public-per-minute", String(perMinute)],
});
let callers = 0;

function freshAddress(): string {
  callers++;
  return `198.51.${callers >> 8}.${callers & 255}`;
}

const ask = (forwardedFor: string) => world.get(`${path}?searchTerm=1`, { "X-Forwarded-For": forwardedFor });

async function spend(forwardedFor: string): Promise<number> {
  const answers = await Promise.all(Array.from({ length: perMinute }, () => ask(forwardedFor)));
  return answers.filter(({ status }) => status === 200).length;
}

test("the limit is exact, the refusal says how long to wait, and others are not concerned", async () => {
  await roomInMinute();
  const address = freshAddress();
  expect(await spend(address)).toBe(perMinute);
  const refused = await ask(address);
  const leftSeconds = 60 - ((Date.now() / 1000) % 60);
  expect(refused.status).toBe(429);
  const body = await readJson<Problem>(refused);
  expect(Object.keys(body)).toEqual(["statusCode", "message", "retryAfterSeconds"]);
  expect(body.statusCode).toBe(429);
  expect(Math.abs((body.retryAfterSeconds ?? 0) - leftSeconds)).toBeLessThan(3);
  expect(refused.headers.get("Retry-After")).toBe(String(body.retryAfterSeconds));
  expect(refused.headers.get("Cache-Control")).toBe("no-store");
  expect((await ask(freshAddress())).status).toBe(200);
});
