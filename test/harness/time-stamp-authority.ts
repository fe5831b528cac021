/** A time-stamp authority for a test: OpenSSL signs, a server on the loopback interface answers (RFC 3161, 3.4). */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const hasOpenssl = Bun.which("openssl") !== null;

export function openssl(folder: string, ...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("openssl", [...words], { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`openssl ${words.join(" ")}: ${stderr}`);
  return stdout;
}

const settings = `[tsa]
default_tsa = one
[one]
serial = serial
crypto_device = builtin
signer_cert = signer.pem
certs = between.pem
signer_key = signer.key
signer_digest = sha256
default_policy = 1.2.3.4.1
other_policies = 1.2.3.4.5
digests = sha256
ess_cert_id_alg = sha256
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
[signer]
extendedKeyUsage = critical,timeStamping
`;

/** An authority's files: what it signs with, and a root that its users trust. */
export type TimeStampAuthority = {
  readonly folder: string;
  /** The file of the root's certificate. */
  readonly rootFile: string;
  /** Answers one question. */
  reply(query: Uint8Array): Uint8Array;
};

function makeKey(folder: string, name: string, words: readonly string[]): void {
  const ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  openssl(folder, "req", ...ec, "-keyout", `${name}.key`, "-subj", `/O=Example/CN=${name}`, ...words);
}

function makeCertificate(folder: string, name: string, by: { issuer: string; as: string }): void {
  makeKey(folder, name, ["-out", `${name}.csr`]);
  const issuer = ["-CA", `${by.issuer}.pem`, "-CAkey", `${by.issuer}.key`, "-CAcreateserial"];
  const extensions = ["-extfile", "settings", "-extensions", by.as];
  openssl(
    folder,
    ...["x509", "-req", "-in", `${name}.csr`, ...issuer, ...extensions, "-days", "2", "-out", `${name}.pem`],
  );
}

/** A root, an authority between, and a signer. */
export function makeAuthority(folder: string): TimeStampAuthority {
  writeFileSync(join(folder, "settings"), settings);
  writeFileSync(join(folder, "serial"), "01\n");
  const isAuthority = ["-addext", "basicConstraints=critical,CA:TRUE"];
  makeKey(folder, "root", ["-x509", "-days", "2", "-out", "root.pem", ...isAuthority]);
  makeCertificate(folder, "between", { issuer: "root", as: "authority" });
  makeCertificate(folder, "signer", { issuer: "between", as: "signer" });
  return {
    folder,
    rootFile: join(folder, "root.pem"),
    reply(query) {
      writeFileSync(join(folder, "query"), query);
      openssl(folder, "ts", "-reply", "-config", "settings", "-queryfile", "query", "-out", "answer");
      return new Uint8Array(readFileSync(join(folder, "answer")));
    },
  };
}

type AuthorityServer = { readonly url: string; stop(): Promise<void> };

/** @param answer what the server does with a question; by default it has the authority reply */
export function serveAuthority(
  authority: TimeStampAuthority,
  answer: (query: Uint8Array) => Response | Promise<Response> = (query) =>
    new Response(new Uint8Array(authority.reply(query)), {
      headers: { "Content-Type": "application/timestamp-reply" },
    }),
): AuthorityServer {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => answer(await request.bytes()),
  });
  return { url: `http://127.0.0.1:${server.port}/tsa`, stop: () => server.stop(true) };
}
