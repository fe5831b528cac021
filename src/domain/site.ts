/** Whose service this is (decision D8.4): what stands on every page, on attestations and in the OpenAPI document. */

/** A picture that was checked: it can neither run a script nor load anything. */
export type Logo = {
  readonly type: "image/png";
  readonly data: string;
};

/** How people reach who runs the service; what was not said is absent. */
export type Contact = {
  readonly email?: string;
  readonly phone?: string;
  readonly url?: string;
  readonly address?: string;
};

export type Site = {
  /** The registry's name; null where nobody said whose service it is. */
  readonly name: string | null;
  readonly logo: Logo | null;
  /** The colour of the head, `#rrggbb`, on which white text can be read. */
  readonly accent: string | null;
  readonly contact: Contact;
  readonly privacyUrl: string | null;
  readonly accessibilityUrl: string | null;
  /** Where somebody reports that a record is wrong. */
  readonly reportUrl: string | null;
};

/** The site of a service that was not told whose it is. */
export const defaultSite: Site = {
  name: null,
  logo: null,
  accent: null,
  contact: {},
  privacyUrl: null,
  accessibilityUrl: null,
  reportUrl: null,
};

let lastRead = { text: "", site: defaultSite };

/** A site as the database remembers it: the same object while its text stays, so that pages made with it can be kept. */
export function rememberedSite(text: string): Site {
  if (text !== lastRead.text) lastRead = { text, site: { ...defaultSite, ...JSON.parse(text) } };
  return lastRead.site;
}

/** The form in which a site is remembered. */
export function storedSite(site: Site): string {
  return JSON.stringify(site);
}
