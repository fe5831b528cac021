/** Registers with attestations in the evidence log, made as the service makes them. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { logWriterOf } from "../../cli/evidence/open-evidence.ts";
import { type CommandContext, withContext } from "../../cli/open.ts";
import { openService } from "../../cli/serve/open-service.ts";
import { readConfig } from "../../src/config.ts";
import type { AttestedOperation } from "../../src/domain/attestations.ts";
import type { Partner } from "../../src/domain/partners.ts";
import type { Question } from "../../src/domain/verification.ts";
import type { Service } from "../../src/service.ts";
import { anApiKey, aPartner, aTeacherWrite } from "./samples.ts";
import { makeRegister } from "./service.ts";

const config = (dataDir: string) => readConfig({ data: dataDir, issuer: "https://verify.example.gov" }, {});

/** Answers `count` calls. The first use makes the register. */
export async function attestCalls(dataDir: string, count: number): Promise<void> {
  const isNew = !existsSync(join(dataDir, "tvs.db"));
  if (isNew) await makeRegister(dataDir);
  const { operator, service, close } = await openService(config(dataDir));
  const partner = { ...aPartner("agency"), perMinute: 1000, perDay: 1000 };
  if (isNew) {
    await operator.stores.partners.add(partner, anApiKey("agency", "k1"));
    await operator.stores.teachers.apply([aTeacherWrite("A/B/C/2")]);
  }
  const question = { identifier: { regNo: "A/B/C/1" }, purpose: "EMPLOYER_BACKGROUND_CHECK" } as const;
  for (let done = 0; done < count; done++) {
    await answerCall(service, { partner, operation: "eligibility-check", questions: [question] });
  }
  await close();
}

/** Answers a partner's call, without checking credential and scope. @returns the body */
export async function answerCall(
  { configuration, quota, verification }: Service,
  asked: { partner: Partner; operation: AttestedOperation; questions: readonly Question[] },
): Promise<string> {
  const authenticated = { partner: asked.partner, credential: "k1" };
  const call = quota.open();
  call.reserve(asked.partner);
  const admitted = { snapshot: await configuration.refresh(), authenticated };
  const answer = await verification.answer({ ...asked, ...admitted, requestId: "request-1", quota: call });
  call.end();
  if (answer === null) throw new Error("the commit was refused");
  return answer.body;
}

/** Opens an existing register, as a command does. */
export function withLog<T>(dataDir: string, run: (operator: CommandContext) => Promise<T>): Promise<T> {
  return withContext(config(dataDir), run);
}

/** Returns the newest checkpoint. It is signed first if attestations wait for one. */
export async function newestNote(dataDir: string): Promise<string> {
  return withLog(dataDir, async (operator) => {
    const checkpoint = await logWriterOf(operator).checkpoint();
    return checkpoint?.note ?? "";
  });
}
