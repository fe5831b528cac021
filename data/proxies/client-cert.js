/**
 * The header Client-Cert (RFC 9440) for nginx, whose own variables hold PEM only: the base64 of the caller's
 * certificate between colons, or nothing, which makes nginx leave the header out.
 */
function header(request) {
  const pem = request.variables.ssl_client_raw_cert || "";
  const base64 = pem.replace(/-----[^-]+-----/g, "").replace(/\s/g, "");
  return base64 === "" ? "" : `:${base64}:`;
}

export default { header };
