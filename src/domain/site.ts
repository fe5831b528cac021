/** The registry that runs the service, as pages, attestations and the OpenAPI document show it (decision D8.4). */

export type SiteDetails = {
  /** The registry's name; null without a site file. */
  readonly name: string | null;
  /** A checked PNG in base64; null without a logo. */
  readonly logo: { readonly type: "image/png"; readonly data: string } | null;
  /** The colour of the page head, `#rrggbb`, on which white text is readable; null for the usual colour. */
  readonly accent: string | null;
  readonly contact: Readonly<Partial<Record<"email" | "phone" | "url" | "address", string>>>;
  readonly privacyUrl: string | null;
  readonly accessibilityUrl: string | null;
  /** The page on which people report wrong records; null without one. */
  readonly reportUrl: string | null;
};

/** The registry's details before the operator sets any. */
export const defaultSite: SiteDetails = {
  name: null,
  logo: null,
  accent: null,
  contact: {},
  privacyUrl: null,
  accessibilityUrl: null,
  reportUrl: null,
};

let lastRead = { text: "", site: defaultSite };

/** Reads a stored site. An unchanged text gives the same object, because pages are cached by the object. */
export function readStoredSite(text: string): SiteDetails {
  if (text !== lastRead.text) lastRead = { text, site: { ...defaultSite, ...JSON.parse(text) } };
  return lastRead.site;
}
