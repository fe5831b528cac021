/** Registers with attestations in the evidence log, made as the service makes them. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { openService } from "../../cli/serve/open-service.ts";
import { readCommandConfig } from "../../src/config.ts";
import type { AttestedOperation } from "../../src/domain/attestations.ts";
import type { Partner } from "../../src/domain/partners.ts";
import type { TeacherQuestion } from "../../src/domain/verification.ts";
import type { Service } from "../../src/service.ts";
import { anApiKey, aPartner, aTeacherWrite } from "./samples.ts";
import { makeRegister } from "./service.ts";

/** Answers `count` calls. The first use makes the register. @param whileOpen runs before the service stops */
export async function attestCalls(dataDir: string, count: number, whileOpen = () => {}): Promise<void> {
  const isNew = !existsSync(join(dataDir, "tvs.db"));
  if (isNew) await makeRegister(dataDir);
  const config = readCommandConfig({ data: dataDir, issuer: "https://verify.example.gov" }, {});
  const { operator, service, close } = await openService(config);
  const partner = { ...aPartner("agency"), perMinute: 1000, perDay: 1000 };
  if (isNew) {
    await operator.stores.partners.add(partner, anApiKey("agency", "k1"));
    await operator.stores.teachers.apply([aTeacherWrite("A/B/C/1")]);
  }
  const question = { identifier: { regNo: "A/B/C/1" }, purpose: "EMPLOYER_BACKGROUND_CHECK" } as const;
  for (let done = 0; done < count; done++)
    await answerCall(service, { partner, operation: "eligibility-check", questions: [question] });
  whileOpen();
  await close();
}

/** Answers a partner's call, without checking credential and scope. @returns the body */
export async function answerCall(
  { configuration, quota, verification }: Service,
  asked: { partner: Partner; operation: AttestedOperation; questions: readonly TeacherQuestion[] },
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
