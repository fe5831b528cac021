import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer as createTcpServer, type Server } from "node:net";
import { join } from "node:path";
import { exportSPKI, generateKeyPair, SignJWT } from "jose";
import type { TvsError } from "../../../src/domain/errors.ts";
import { openDatabaseServer } from "../../../src/store/server/remote.ts";
import { makeCertificate } from "../../harness/certificates.ts";
import { listen } from "../../harness/endpoint.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { freePort } from "../../harness/free-port.ts";
import { catchError } from "../../harness/rejection.ts";
import { noServer, startServer, type TestServer } from "../../harness/sqld.ts";

describe.skipIf(noServer !== undefined)("a libSQL server's URL that cannot be opened is refused", () => {
  const ends: (() => Promise<unknown>)[] = [];
  const folder = sharedFolder();
  let guarded: TestServer;
  let sign: (claims: Record<string, unknown>) => Promise<string>;

  beforeAll(async () => {
    const { publicKey, privateKey } = await generateKeyPair("EdDSA", { extractable: true });
    const file = join(folder, "jwt.pem");
    await writeFile(file, await exportSPKI(publicKey));
    guarded = await startServer({ args: ["--auth-jwt-key-file", file] });
    sign = (claims) => new SignJWT(claims).setProtectedHeader({ alg: "EdDSA" }).sign(privateKey);
    ends.push(guarded.stop);
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  async function refusal(url: string, token?: string): Promise<Pick<TvsError, "code" | "message">> {
    const error = (await catchError(openDatabaseServer({ url, token }))) as TvsError;
    expect(error.message).not.toContain("\n");
    if (token !== undefined) expect(error.message).not.toContain(token);
    return { code: error.code, message: error.message.replace(url, "URL") };
  }

  async function listening(server: Server, scheme = "http"): Promise<string> {
    ends.push(() => new Promise((done) => server.close(done)));
    return listen(server, scheme);
  }

  const invalid = (words: string) =>
    ({ code: "CONFIG_INVALID", message: `the database at URL ${words}` }) as const;

  test("a libSQL server's missing, wrong or read-only token is refused in one line", async () => {
    expect(await refusal(guarded.url)).toEqual(invalid("asks for a token; give it in TVS_DATABASE_TOKEN"));
    expect(await refusal(guarded.url, "wrong")).toEqual(
      invalid("does not accept the token in TVS_DATABASE_TOKEN"),
    );
    const reader = await sign({ a: "ro" });
    expect(await refusal(guarded.url, reader)).toEqual(
      invalid("lets the token in TVS_DATABASE_TOKEN only read; it must be able to write"),
    );
    await (await openDatabaseServer({ url: guarded.url, token: await sign({}) })).close();
  });

  test("the URL of a web server or another program is refused in one line", async () => {
    const answering = (status: number, type: string, body: string) =>
      createServer((_, response) => void response.writeHead(status, { "content-type": type }).end(body));
    const web = answering(200, "text/html", "<html></html>");
    const nothing = answering(404, "text/plain", "");
    const other = answering(200, "application/json", '{"hello":1}');
    const shell = createTcpServer((socket) => socket.on("error", () => {}).end("SSH-2.0-OpenSSH_9.2\r\n"));
    for (const server of [web, nothing, other, shell]) {
      expect(await refusal(await listening(server))).toEqual(
        invalid("is no libSQL server; --database (TVS_DATABASE) must be the address of one"),
      );
    }
  });

  test("a database URL where nobody listens is refused in one line", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    expect(await refusal(url)).toEqual({
      code: "STORE_UNAVAILABLE",
      message: "the database at URL does not answer; start the server, or correct --database (TVS_DATABASE)",
    });
  });

  test("an https URL of a server without TLS, or with an untrusted certificate, is refused in one line", async () => {
    const url = guarded.url.replace("http:", "https:");
    expect(await refusal(url)).toEqual(
      invalid("does not speak TLS; --database (TVS_DATABASE) must begin with http://, or name another port"),
    );
    const { keyPem, certPem } = await makeCertificate({ commonName: "nobody knows" });
    const tls = createTlsServer({ key: keyPem, cert: certPem }, (_, response) => response.end());
    expect(await refusal(await listening(tls, "https"))).toEqual(
      invalid(
        "has a certificate that is not trusted for that name; NODE_EXTRA_CA_CERTS names a file of further authorities",
      ),
    );
  });

  test("the URL of a libSQL replica is refused in one line", async () => {
    const grpc = await freePort();
    const primary = await startServer({ args: ["--grpc-listen-addr", `127.0.0.1:${grpc}`] });
    const replica = await startServer({ args: ["--primary-grpc-url", `http://127.0.0.1:${grpc}`] });
    ends.push(replica.stop, primary.stop);
    await (await openDatabaseServer({ url: primary.url })).close();
    expect(await refusal(replica.url)).toEqual(
      invalid("is a replica; --database (TVS_DATABASE) must be the primary"),
    );
  });
});
