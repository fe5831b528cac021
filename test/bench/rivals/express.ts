/**
 * Express with jsonwebtoken, as most teams write it: signing blocks the event loop. The key is read once; with its PEM
 * text in each call, as many do, a check costs more than twice as much.
 */
import type { AddressInfo } from "node:net";
import express, { type ErrorRequestHandler } from "express";
import jwt from "jsonwebtoken";
import { admit, answer, audience, headersOf, issuer, kid, newCheck, privateKey, Refusal } from "./work.ts";

const app = express();
app.use(express.json());

app.post("/v1/inter-agency/eligibility-check", (request, response) => {
  admit(request.headers.authorization);
  const check = newCheck(request.body);
  const claims = { iat: check.at, result: check.result };
  const options = { algorithm: "RS256", keyid: kid, issuer, audience, subject: check.id } as const;
  const jws = jwt.sign(claims, privateKey, options);
  response.set(headersOf(check.id)).json(answer(check, jws));
});

const refuse: ErrorRequestHandler = (error, _request, response, _next) => {
  const statusCode = error instanceof Refusal ? error.statusCode : 500;
  response.status(statusCode).json({ statusCode, message: String(error.message) });
};
app.use(refuse);

const server = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
