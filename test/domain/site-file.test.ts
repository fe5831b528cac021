import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { defaultSite, readStoredSite } from "../../src/domain/site.ts";
import { parseSiteFile } from "../../src/domain/site-file.ts";
import { damagedPngs, makePng } from "../harness/png.ts";

const read = (document: object | string, logo: string | Uint8Array = "") =>
  parseSiteFile(typeof document === "string" ? document : JSON.stringify(document), () => Buffer.from(logo));

function expectRefusal(flaw: string, document: object | string, logo: string | Uint8Array = "") {
  const message = expect.stringMatching(/^the site is not valid: .*$/);
  const refusal = expect.objectContaining({ code: "CONFIG_INVALID", message });
  expect(() => read(document, logo)).toThrow(refusal);
  expect(() => read(document, logo)).toThrow(flaw);
}

test("a site file needs only a name", () => {
  expect(read({ name: " Teachers  Council " })).toEqual({ ...defaultSite, name: "Teachers Council" });
});

test("the stored site has the values of the site file, and the logo", () => {
  const site = read(
    {
      name: "Ìgbìmọ̀ Olùkọ́",
      logo: "logo.png",
      accent: "#0B4F9C",
      contact: {
        email: "help@council.example",
        phone: "+234 9 000 0000",
        url: "https://council.example",
        address: "1 Road, Abuja",
      },
      privacyUrl: "https://council.example/privacy",
      accessibilityUrl: "https://council.example/accessibility",
      reportUrl: "https://council.example/report",
    },
    makePng(),
  );
  expect(site.accent).toBe("#0b4f9c");
  expect(site.logo?.type).toBe("image/png");
  const text = JSON.stringify(site);
  expect(readStoredSite(text)).toEqual(site);
  expect(readStoredSite(text)).toBe(readStoredSite(text));
});

test.each<[string, object | string]>([
  ["it is no JSON", "{name:"],
  ["name is missing", {}],
  ["name is longer than 120 characters", { name: "a".repeat(121) }],
  ["name holds a character that cannot be seen", { name: "Coun\u202ecil" }],
  ["colour is not known; there are name, logo,", { name: "A", colour: "#000000" }],
  ["contact must be an object with email,", { name: "A", contact: [] }],
  ["contact.mail is not known; there are email,", { name: "A", contact: { mail: "a@b.example" } }],
  ["contact must be an object", { name: "A", contact: "a@b.example" }],
  ["contact.email must be an e-mail address", { name: "A", contact: { email: "help" } }],
  ["contact.phone must be a phone number", { name: "A", contact: { phone: "call us" } }],
  ["privacyUrl must be a web address", { name: "A", privacyUrl: "javascript:alert(1)" }],
  ["contact.url must be a web address", { name: "A", contact: { url: "https://a:b@c.example" } }],
  ["accent must be a colour of the form #rrggbb", { name: "A", accent: "green" }],
  ["white text on it has a contrast of 4.4:1", { name: "A", accent: "#787878" }],
  ["without a folder", { name: "A", logo: "../logo.png" }],
  ["the document must be an object", "7"],
])("the refusal of a site file says in one line: %s", (line, document) => {
  expectRefusal(line, document);
});

test("a site's accent colour is accepted from a contrast of 4.5:1 to white", () => {
  expect(read({ name: "A", accent: "#767676" }).accent).toBe("#767676");
});

const withLogo = { name: "A", logo: "logo" };

test("a site's logo may be a PNG with several chunks of pixels and a comment", () => {
  const picture = makePng(3, 3, ["tEXt", "IDAT"]);
  const { type, data } = read(withLogo, picture).logo ?? {};
  expect([type, data]).toEqual(["image/png", picture.toString("base64")]);
});

test.each(Object.entries(damagedPngs()))("a site's logo is refused as a damaged PNG if %s", (_, picture) => {
  expectRefusal("the logo logo is a damaged PNG", withLogo, picture);
});

test.each<[string, string | Uint8Array]>([
  ["is empty", ""],
  ["is larger than 64 KiB", " ".repeat(65_537)],
  ["is no PNG; save it as one", '<svg xmlns="http://www.w3.org/2000/svg"/>'],
  ["is no PNG; save it as one", "GIF89a"],
  ["is more than 2048 pixels", makePng(2_049, 1)],
])("the refusal of a site's logo says in one line: %s", (line, logo) => {
  expectRefusal(`the logo logo ${line}`, withLogo, logo);
});
