/**
 * Who signed a time-stamp (RFC 3161, 2.4.2; RFC 5652, 5.4 and 5.6). The library verifies the signature and the
 * certificates' chain; what RFC 3161 asks for besides is looked at here.
 */

import { createHash } from "node:crypto";
import { type BaseBlock, Constructed, ObjectIdentifier, OctetString, Sequence } from "asn1js";
import {
  type Attribute,
  Certificate,
  type ContentInfo,
  type ExtKeyUsage,
  SignedData,
  type SignerInfo,
  TSTInfo,
} from "pkijs";
import { TvsError } from "../errors.ts";

const oids = {
  signedData: "1.2.840.113549.1.7.2",
  timeStampInfo: "1.2.840.113549.1.9.16.1.4",
  contentType: "1.2.840.113549.1.9.3",
  messageDigest: "1.2.840.113549.1.9.4",
  signingCertificate: "1.2.840.113549.1.9.16.2.12",
  signingCertificateV2: "1.2.840.113549.1.9.16.2.47",
  extendedKeyUsage: "2.5.29.37",
  timeStamping: "1.3.6.1.5.5.7.3.8",
} as const;

/** The class of tags that mean something only where they stand. */
const contextTag = 3;

/** The hashes by which a signed attribute may name the signer's certificate. */
const hashes: Readonly<Record<string, string>> = {
  "1.3.14.3.2.26": "sha1",
  "2.16.840.1.101.3.4.2.1": "sha256",
  "2.16.840.1.101.3.4.2.2": "sha384",
  "2.16.840.1.101.3.4.2.3": "sha512",
};

/** Who signed a time-stamp. */
export type Signer = {
  /** Whom the signer's certificate names. */
  readonly signer: string;
  /** SHA-256 of the signer's certificate, in hex. */
  readonly fingerprint: string;
  /** Whether the certificate was followed up to an authority that the caller trusts. */
  readonly trusted: boolean;
};

/** A time-stamp token that could be read; nothing of it is checked yet. */
export type Token = {
  readonly signed: SignedData;
  readonly info: TSTInfo;
  /** The certificates that came with it, byte for byte: the library writes them anew, and mends what is odd. */
  readonly certificates: readonly Uint8Array[];
};

/** @throws TvsError REFUSED for what is signed but no time-stamp */
export function readToken({ contentType, content }: ContentInfo): Token {
  if (contentType !== oids.signedData) throw notStamped("sent something that is not signed");
  try {
    const signed = new SignedData({ schema: content });
    const { eContentType, eContent } = signed.encapContentInfo;
    if (eContentType !== oids.timeStampInfo || eContent === undefined) throw new Error("no TSTInfo");
    const info = TSTInfo.fromBER(eContent.getValue());
    return { signed, info, certificates: certificatesIn(content) };
  } catch (cause) {
    throw notStamped("signed something that is not a time-stamp", cause);
  }
}

/** SignedData has its certificates under the tag [0] (RFC 5652, 5.1). */
function certificatesIn(content: BaseBlock): Uint8Array[] {
  const set = childrenOf(content).find(
    ({ idBlock }) => idBlock.tagClass === contextTag && idBlock.tagNumber === 0,
  );
  return set instanceof Constructed
    ? set.valueBlock.value.map((one) => new Uint8Array(one.valueBeforeDecodeView))
    : [];
}

/**
 * Checks the one signature of a token and the certificate that it names.
 * @param content the bytes that were time-stamped
 * @param trust the authorities that the caller trusts, as PEM
 * @throws TvsError REFUSED; INPUT_UNREADABLE for a `trust` without a certificate
 */
export async function checkSigner(
  { signed, info, certificates }: Token,
  content: Uint8Array,
  trust: string | undefined,
): Promise<Signer> {
  const [signerInfo, ...others] = signed.signerInfos;
  if (signerInfo === undefined || others.length > 0) throw notStamped("did not sign exactly once");
  const trustedCerts = trust === undefined ? [] : readCertificates(trust);
  const certificate = await verifySignature(signed, { content, trustedCerts, checkDate: info.genTime });
  const bytes = certificates[signed.certificates?.indexOf(certificate) ?? -1];
  if (bytes === undefined) throw notStamped("sent no certificate of the one who signed");
  requireAttributes(signerInfo, bytes);
  requirePurpose(certificate);
  if (info.genTime < certificate.notBefore.value || info.genTime > certificate.notAfter.value)
    throw notStamped("signed with a certificate that was not valid at that time");
  return {
    signer: nameOf(certificate),
    fingerprint: createHash("sha256").update(bytes).digest("hex"),
    trusted: trust !== undefined,
  };
}

type Verification = { content: Uint8Array; trustedCerts: Certificate[]; checkDate: Date };

/** Lets the library verify the signature over the signed attributes, the digest in them, and the chain. */
async function verifySignature(
  signed: SignedData,
  { content, trustedCerts, checkDate }: Verification,
): Promise<Certificate> {
  const result = await signed
    .verify({
      signer: 0,
      data: new Uint8Array(content).buffer,
      checkDate,
      trustedCerts,
      checkChain: trustedCerts.length > 0,
      passedWhenNotRevValues: true,
      extendedMode: true,
    })
    .catch((error: { code?: number; message?: string }) => {
      if (error.code === 5) throw notStamped("is not one that --tsa-ca vouches for", error);
      throw notStamped("sent a signature that does not hold", error);
    });
  const { signatureVerified, signerCertificate } = result;
  if (signatureVerified === true && signerCertificate instanceof Certificate) return signerCertificate;
  throw notStamped("sent a signature that does not hold");
}

/**
 * The signed attributes must say that this is a time-stamp, once what its digest is, and with which certificate it was
 * signed: else another certificate for the same key could be put in its place.
 */
function requireAttributes({ signedAttrs }: SignerInfo, certificate: Uint8Array): void {
  const attributes = signedAttrs?.attributes ?? [];
  const [type, ...types] = valuesOf(attributes, oids.contentType);
  const digests = valuesOf(attributes, oids.messageDigest);
  const isStamp = type instanceof ObjectIdentifier && type.getValue() === oids.timeStampInfo;
  if (!isStamp || types.length > 0 || digests.length !== 1)
    throw notStamped("signed attributes that are not those of a time-stamp");
  const named = [
    ...valuesOf(attributes, oids.signingCertificate).map((value) => certificateHash(value, "sha1")),
    ...valuesOf(attributes, oids.signingCertificateV2).map((value) => certificateHash(value, "sha256")),
  ];
  const isNamed = ({ algorithm, hash }: NamedHash) =>
    createHash(algorithm).update(certificate).digest().equals(hash);
  if (named.length === 0 || !named.every((one) => one !== null && isNamed(one)))
    throw notStamped("does not say in its signature which certificate it signed with");
}

function valuesOf(attributes: readonly Attribute[], type: string): BaseBlock[] {
  return attributes.filter((one) => one.type === type).flatMap(({ values }) => values as BaseBlock[]);
}

type NamedHash = { readonly algorithm: string; readonly hash: Uint8Array };

/** The first certificate of a SigningCertificate (RFC 2634, 5.4) or SigningCertificateV2 (RFC 5035, 3). */
function certificateHash(value: BaseBlock, usual: string): NamedHash | null {
  const first = childrenOf(childrenOf(childrenOf(value)[0])[0]);
  const [named] = childrenOf(first[0]);
  const algorithm = named instanceof ObjectIdentifier ? hashes[named.getValue()] : usual;
  const hash = first.find((one) => one instanceof OctetString);
  if (algorithm === undefined || hash === undefined) return null;
  return { algorithm, hash: new Uint8Array(hash.getValue()) };
}

const childrenOf = (block: BaseBlock | undefined): BaseBlock[] =>
  block instanceof Sequence ? (block.valueBlock.value as BaseBlock[]) : [];

/** RFC 3161, 2.3: the key may be used for time-stamping and nothing else, and says so in a critical extension. */
function requirePurpose({ extensions = [] }: Certificate): void {
  const usage = extensions.find(({ extnID }) => extnID === oids.extendedKeyUsage);
  const purposes = (usage?.parsedValue as ExtKeyUsage | undefined)?.keyPurposes ?? [];
  if (usage?.critical !== true || purposes.length !== 1 || purposes[0] !== oids.timeStamping)
    throw notStamped("signed with a certificate that is not for time-stamping");
}

/** @throws TvsError INPUT_UNREADABLE */
function readCertificates(pem: string): Certificate[] {
  const blocks = [
    ...pem.matchAll(/-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g),
  ];
  try {
    const found = blocks.map(([, text = ""]) => Certificate.fromBER(Buffer.from(text, "base64")));
    if (found.length > 0) return found;
  } catch {
    // Said below, as for a file without any.
  }
  throw new TvsError("INPUT_UNREADABLE", "--tsa-ca must be a PEM file of certificates");
}

/** The short names of the parts of a name that people know (RFC 4514, 3). */
const shortNames: Readonly<Record<string, string>> = {
  "2.5.4.3": "CN",
  "2.5.4.6": "C",
  "2.5.4.7": "L",
  "2.5.4.8": "ST",
  "2.5.4.10": "O",
  "2.5.4.11": "OU",
};

function nameOf({ subject }: Certificate): string {
  return subject.typesAndValues
    .map(({ type, value }) => `${shortNames[type] ?? type}=${value.valueBlock.value}`)
    .join(", ");
}

function notStamped(problem: string, cause?: unknown): TvsError {
  return new TvsError("REFUSED", `the time-stamp authority ${problem}`, { cause });
}
