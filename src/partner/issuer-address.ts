/** Reading the name of a host takes the square of its length. */
const maxIssuerCharacters = 2_000;

/**
 * The address that an issuer is named by, which may be anybody's.
 *
 * @returns null for what is no plain address of the web: names and passwords before a host deceive who reads it
 */
export function addressOfIssuer(issuer: string): URL | null {
  const url = issuer.length <= maxIssuerCharacters && URL.canParse(issuer) ? new URL(issuer) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return url.username + url.password + url.search + url.hash === "" ? url : null;
}

/**
 * The address of the page that verifies an issuer's envelopes.
 *
 * @param issuer by which the envelope names its service; it may be anybody's
 * @returns null for what is no address of the web
 */
export function pageOfIssuer(issuer: string): string | null {
  const url = addressOfIssuer(issuer);
  return url === null ? null : `${url.href.replace(/\/+$/, "")}/verify-envelope`;
}
