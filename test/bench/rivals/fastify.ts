/** Fastify with jose: WebCrypto, which signs on Node's thread pool. */
import { fastify } from "fastify";
import { importPKCS8, SignJWT } from "jose";
import { admit, answer, audience, headersOf, issuer, kid, newCheck, privateKey } from "./work.ts";

const key = await importPKCS8(String(privateKey.export({ type: "pkcs8", format: "pem" })), "RS256");
const app = fastify();

app.post("/v1/inter-agency/eligibility-check", async (request, reply) => {
  admit(request.headers.authorization);
  const check = newCheck(request.body);
  const jws = await new SignJWT({ result: check.result })
    .setProtectedHeader({ alg: "RS256", kid, typ: "JWT" })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(check.id)
    .setIssuedAt(check.at)
    .sign(key);
  reply.headers(headersOf(check.id));
  return answer(check, jws);
});

process.stdout.write(`listening on ${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);
