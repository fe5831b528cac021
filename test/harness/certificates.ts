/** Certificates made at test time, so that the repository has no key and no fixture expires. */
import { X509Certificate } from "node:crypto";

/**
 * `@peculiar/x509` carries a small injector that refuses to load without a Reflect metadata polyfill.
 * Nothing here injects by metadata, so answering "none" is all the polyfill it needs. It has to stand
 * before the library loads, hence the dynamic import.
 */
function loadX509() {
  const reflect = Reflect as { getMetadata?: () => unknown; getOwnMetadata?: () => unknown };
  reflect.getMetadata ??= () => undefined;
  reflect.getOwnMetadata ??= () => undefined;
  return import("@peculiar/x509");
}

const x509 = await loadX509();

const EC_P256 = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const RSA_2048 = {
  ...{ name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
  ...{ modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
};

/** A certificate with its private key, in the forms that tests ask for. */
export interface TestCertificate {
  certPem: string;
  keyPem: string;
  /** The certificate as DER. */
  der: Uint8Array<ArrayBuffer>;
  /** SHA-256 of the DER, lower-case hexadecimal without colons. */
  fingerprint256: string;
}

interface CertificateOptions {
  commonName: string;
  notBefore?: Date;
  notAfter?: Date;
  /** The certificate that signs it; if undefined, it signs itself. */
  issuer?: TestCertificate;
  /** Makes an RSA key instead of an ECDSA key. The certificate must sign itself. */
  isRsa?: true;
}

/**
 * Makes an ECDSA P-256 certificate for `localhost`, `127.0.0.1` and `::1`, for a server or a client. By default it is
 * valid from an hour ago until tomorrow.
 */
export async function makeCertificate(options: CertificateOptions): Promise<TestCertificate> {
  const algorithm = options.isRsa ? RSA_2048 : EC_P256;
  const keys = (await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as CryptoKeyPair;
  const subject = `CN=${options.commonName}`;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: crypto.randomUUID().replaceAll("-", "").replace(/^./, "1"),
    subject,
    issuer: options.issuer ? subjectOf(options.issuer) : subject,
    notBefore: options.notBefore ?? new Date(Date.now() - 3_600_000),
    notAfter: options.notAfter ?? new Date(Date.now() + 86_400_000),
    publicKey: keys.publicKey,
    signingKey: options.issuer ? await signingKeyOf(options.issuer) : keys.privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 1, true),
      new x509.SubjectAlternativeNameExtension([
        { type: "dns", value: "localhost" },
        { type: "ip", value: "127.0.0.1" },
        { type: "ip", value: "::1" },
      ]),
    ],
  });
  return describe(certificate.rawData, keys.privateKey);
}

async function describe(rawData: ArrayBuffer, privateKey: CryptoKey): Promise<TestCertificate> {
  const digest = await crypto.subtle.digest("SHA-256", rawData);
  return {
    certPem: x509.PemConverter.encode(rawData, "CERTIFICATE"),
    keyPem: x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", privateKey), "PRIVATE KEY"),
    der: new Uint8Array(rawData),
    fingerprint256: Buffer.from(digest).toString("hex"),
  };
}

function subjectOf(issuer: TestCertificate): string {
  return new X509Certificate(issuer.certPem).subject.split("\n").join(",");
}

function signingKeyOf(issuer: TestCertificate): Promise<CryptoKey> {
  const pkcs8 = x509.PemConverter.decodeFirst(issuer.keyPem);
  return crypto.subtle.importKey("pkcs8", pkcs8, EC_P256, false, ["sign"]);
}
