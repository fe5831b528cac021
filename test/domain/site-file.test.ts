import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { PNG } from "pngjs";
import { defaultSite, rememberedSite, storedSite } from "../../src/domain/site.ts";
import { parseSite } from "../../src/domain/site-file.ts";

const svg = (inside: string, attributes = "") =>
  `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9" ${attributes}>${inside}</svg>`;

function png(width = 3, height = 3): Buffer {
  return PNG.sync.write(new PNG({ width, height }));
}

const read = (document: object | string, logo: string | Uint8Array = "") =>
  parseSite(typeof document === "string" ? document : JSON.stringify(document), () => Buffer.from(logo));

function refusalOf(document: object | string, logo: string | Uint8Array = ""): string {
  try {
    read(document, logo);
  } catch (error) {
    expect(error).toMatchObject({ name: "TvsError", code: "CONFIG_INVALID" });
    const { message } = error as Error;
    expect(message).toStartWith("the site is not valid: ");
    expect(message).not.toContain("\n");
    return message.slice("the site is not valid: ".length);
  }
  throw new Error("the site was accepted");
}

describe("a site", () => {
  test("needs a name alone", () => {
    expect(read({ name: " Teachers  Council " })).toEqual({ ...defaultSite, name: "Teachers Council" });
  });

  test("is remembered as it was read, and stays the same object while it stays the same", () => {
    const site = read(
      {
        name: "Ìgbìmọ̀ Olùkọ́",
        logo: "logo.svg",
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
      svg('<path d="M0 0"/>'),
    );
    expect(site.accent).toBe("#0b4f9c");
    expect(site.logo?.type).toBe("image/svg+xml");
    const text = storedSite(site);
    expect(rememberedSite(text)).toEqual(site);
    expect(rememberedSite(text)).toBe(rememberedSite(text));
  });

  test.each<[string, object | string]>([
    ["it is no JSON", "{name:"],
    ["name is missing", {}],
    ["name is empty", { name: "  " }],
    ["name must be a text", { name: 7 }],
    ["name is longer than 120 characters", { name: "a".repeat(121) }],
    ["name holds a character that cannot be seen", { name: "Coun\u202ecil" }],
    ['"colour" is not known', { name: "A", colour: "#000000" }],
    ['"mail" is not known in contact', { name: "A", contact: { mail: "a@b.example" } }],
    ["contact must be an object", { name: "A", contact: "a@b.example" }],
    ["contact.email must be an e-mail address", { name: "A", contact: { email: "help" } }],
    ["contact.phone must be a phone number", { name: "A", contact: { phone: "call us" } }],
    ["privacyUrl must be a web address", { name: "A", privacyUrl: "javascript:alert(1)" }],
    ["contact.url must be a web address", { name: "A", contact: { url: "https://a:b@c.example" } }],
    ["accent must be a colour of the form #rrggbb", { name: "A", accent: "green" }],
    ["white text on it has a contrast of 4.4:1", { name: "A", accent: "#787878" }],
    ["without a folder", { name: "A", logo: "../logo.svg" }],
    ["the document must be an object", [1]],
  ])("is refused with a line that says: %s", (line, document) => {
    expect(refusalOf(document)).toContain(line);
  });

  test("may have an accent on which white text can just be read", () => {
    expect(read({ name: "A", accent: "#767676" }).accent).toBe("#767676");
  });
});

describe("a logo", () => {
  const withLogo = { name: "A", logo: "logo" };

  test.each([
    [
      "a drawing",
      svg('<defs><linearGradient id="g"/></defs><path fill="url(#g)" d="M0 0"/><use href="#g"/>'),
    ],
    [
      "one with a declaration, a comment and plain style",
      `<?xml version="1.0"?><!-- x -->${svg("<style>.a{fill:red}</style>")}`,
    ],
    ["one with a picture inside", svg('<image xlink:href="data:image/png;base64,AAAA"/>')],
  ])("may be %s", (_what, text) => {
    expect(read(withLogo, text).logo).toEqual({
      type: "image/svg+xml",
      data: Buffer.from(text).toString("base64"),
    });
  });

  test("may be a PNG", () => {
    expect(read(withLogo, png()).logo?.type).toBe("image/png");
  });

  test.each<[string, string | Uint8Array]>([
    ["is empty", ""],
    ["is larger than 64 KiB", svg(" ".repeat(65_536))],
    ["has <script>", svg("<script>alert(1)</script>")],
    ["has <s:script>", svg('<s:script xmlns:s="http://www.w3.org/2000/svg">1</s:script>')],
    ["has <foreignObject>", svg("<foreignObject/>")],
    ["has <h:p>", svg('<h:p xmlns:h="http://www.w3.org/1999/xhtml"/>')],
    ["has onload, which runs a script", svg("", 'onload="alert(1)"')],
    ["has href, which refers to something outside it", svg('<a href="https://x.example"/>')],
    [
      "has xlink:href, which refers to something outside it",
      svg('<image xlink:href="http://x.example/a.png"/>'),
    ],
    ["has href, which refers to something outside it", svg('<use href="data:image/svg+xml;base64,AAAA"/>')],
    ["has to, which runs a script", svg('<set to="javascript:alert(1)" attributeName="x"/>')],
    ['has attributeName="href", which', svg('<set attributeName="href" to="https://x.example"/>')],
    [
      'has attributeName="xlink:href", which',
      svg('<animate attributeName="xlink:href" values="//x.example"/>'),
    ],
    ["has fill, which refers to something outside it", svg('<path fill="url(https://x.example/a)"/>')],
    ["has style, which refers to something outside it", svg('<path style="fill:u\\72l(//x.example)"/>')],
    ["has <style>, which refers", svg("<style>@import 'a.css'</style>")],
    ["has <style>, which refers", svg("<style><![CDATA[a{background:url('//x.example')}]]></style>")],
    ["has <style>, which refers", svg("<style><a/>@import 'a.css'</style>")],
    ["has <style>, which refers", svg("<style>@im<!-- x -->port 'a.css'</style>")],
    ["has <style>, which refers", svg("<style>@im<![CDATA[port 'a.css']]></style>")],
    ["has a document type", `<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>${svg("&a;")}`],
    ["has the instruction <?xml-stylesheet?>", `<?xml-stylesheet href="a.css"?>${svg("")}`],
    ["is not well-formed", svg("<path>")],
    ["is not well-formed", svg("&nobody;")],
    ["is no SVG", "<html xmlns='http://www.w3.org/1999/xhtml'/>"],
    ["is neither a PNG nor an SVG", "GIF89a"],
    ["is neither a PNG nor an SVG in UTF-8", Buffer.from([0xff, 0xd8, 0xff])],
    ["is a damaged PNG", png().subarray(0, 40)],
    ["is more than 2048 pixels", png(2_049, 1)],
  ])("is refused with a line that says: %s", (line, logo) => {
    expect(refusalOf(withLogo, logo)).toContain(`the logo logo ${line}`);
  });
});
