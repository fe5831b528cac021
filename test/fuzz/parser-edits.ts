/** Edits inputs at random, and also the packed, encoded or signed parts inside them, which are packed and signed again. */

import { deflateSync, inflateRawSync, inflateSync } from "node:zlib";
import fc from "fast-check";
import { signTexts } from "../fixtures/envelope-tokens.ts";
import { makeZip } from "../harness/archive.ts";

const anyPlace = fc.nat({ max: 2 ** 31 - 1 });
export const anEdit = fc.record({ how: anyPlace, at: anyPlace, of: anyPlace });

/** A plan for one input: an input of the corpus, a second one, a part of the first, and the edits of that part. */
export const inputPlanArbitrary = fc.record({
  from: anyPlace,
  beside: anyPlace,
  part: anyPlace,
  edits: fc.array(anEdit, { maxLength: 4 }),
});
type Plan = typeof inputPlanArbitrary extends fc.Arbitrary<infer P> ? P : never;
export type Edit = Plan["edits"][number];

const maxEdited = 256 * 1024;

export function makeInput({ from, beside, part, edits }: Plan, corpus: readonly Buffer[]): Buffer {
  const whole = chosen(corpus, from);
  // Half of the plans edit the whole input, half a part inside.
  const { content, put } = chosen(known(whole), part % 2 === 0 ? 0 : part >> 1);
  const made = edits.reduce(
    // Bounds the size, which some edits multiply.
    (before, edit) => (before.length > maxEdited ? before : editBytes(before, chosen(corpus, beside), edit)),
    content,
  );
  return put(made);
}

const chosen = <T>(all: readonly T[], at: number) => all[at % all.length] as T;

type Part = { readonly content: Buffer; put(content: Buffer): Buffer };

const knownParts = new WeakMap<Buffer, Part[]>();

/** Caches the parts of an input. */
function known(whole: Buffer): Part[] {
  const parts = knownParts.get(whole) ?? [{ content: whole, put: (made: Buffer) => made }, ...partsOf(whole)];
  knownParts.set(whole, parts);
  return parts;
}

/** All parts inside an input, at any depth, each with a function that replaces it. */
function partsOf(whole: Buffer, depth = 0): Part[] {
  if (depth > 4) return [];
  return [encoded, signed, sealed, packed, archived].flatMap((split) =>
    split(whole).flatMap(({ content, put }) => [
      { content, put },
      ...partsOf(content, depth + 1).map((inner) => ({
        ...inner,
        put: (made: Buffer) => put(inner.put(made)),
      })),
    ]),
  );
}

/** The parts that `read` finds in each match of a pattern. */
function found(whole: Buffer, pattern: RegExp, read: (text: string) => Part[]): Part[] {
  const text = whole.toString("latin1");
  return [...text.matchAll(pattern)].flatMap(({ 0: match, index }) => {
    const [before, after] = [whole.subarray(0, index), whole.subarray(index + match.length)];
    return read(match).map(({ content, put }) => ({
      content,
      put: (made: Buffer) => Buffer.concat([before, put(made), after]),
    }));
  });
}

const encoded = (whole: Buffer) =>
  found(whole, /[\w+/-]{16,}={0,2}/g, (text) => {
    const form = /[+/=]/.test(text) ? "base64" : "base64url";
    return [{ content: Buffer.from(text, form), put: (made) => Buffer.from(made.toString(form)) }];
  });

function signed(whole: Buffer): Part[] {
  return found(whole, /[\w-]{16,}\.[\w-]{16,}\.[\w-]{16,}/g, (jws) => {
    const [header = "", payload = ""] = decodedParts(jws);
    const sign = (head: string, claims: string) => Buffer.from(signTexts(head, claims, "active"));
    return [
      { content: Buffer.from(header), put: (made) => sign(made.toString(), payload) },
      { content: Buffer.from(payload), put: (made) => sign(header, made.toString()) },
    ];
  });
}

const decodedParts = (jws: string) => jws.split(".").map((part) => Buffer.from(part, "base64url").toString());

/** The claims of an envelope. `put` also makes the unsigned members equal to the new claims. */
function sealed(whole: Buffer): Part[] {
  const { signature, ...others } = jsonOf(whole) ?? {};
  if (typeof signature !== "string" || others.result === undefined) return [];
  const [header = "", payload = ""] = decodedParts(signature);
  const put = (made: Buffer) => {
    const { sub, iss, aud, iat, result } = jsonOf(made) ?? {};
    const verifiedAt = undefinedIfThrown(() => new Date(Number(iat) * 1000).toISOString());
    const outer = { verificationId: sub, issuer: iss, audience: aud, verifiedAt, result };
    return Buffer.from(
      JSON.stringify({ ...others, ...outer, signature: signTexts(header, made.toString(), "active") }),
    );
  };
  return [{ content: Buffer.from(payload), put }];
}

const maxUnpacked = { maxOutputLength: 2 ** 20 };

function packed(whole: Buffer): Part[] {
  if (whole[0] !== 0x78) return [];
  return (
    undefinedIfThrown(() => [
      { content: inflateSync(whole, maxUnpacked), put: (made) => deflateSync(made) },
    ]) ?? []
  );
}

/** The members of a zip archive, by its list at the end (APPNOTE 4.3.12). */
export function membersOf(whole: Buffer): Record<string, Buffer> {
  const members: Record<string, Buffer> = {};
  for (let at = whole.indexOf("PK\x01\x02"); at >= 0; at = whole.indexOf("PK\x01\x02", at + 4)) {
    const [length, local] = [whole.readUInt32LE(at + 20), whole.readUInt32LE(at + 42)];
    const name = whole.toString("utf8", at + 46, at + 46 + whole.readUInt16LE(at + 28));
    const start = local + 30 + whole.readUInt16LE(local + 26) + whole.readUInt16LE(local + 28);
    const data = whole.subarray(start, start + length);
    members[name] = whole.readUInt16LE(at + 10) === 0 ? data : inflateRawSync(data);
  }
  return members;
}

function archived(whole: Buffer): Part[] {
  if (whole.toString("latin1", 0, 2) !== "PK") return [];
  const members = membersOf(whole);
  return Object.entries(members).map(([name, content]) => ({
    content,
    put: (made) => makeZip({ ...members, [name]: made }),
  }));
}

const numbers = ["-1", "0", "1e400", "9007199254740993", "4294967296", "1.5", "-0", "00", "٣"];
const words = [
  ..."\"{}[],:.=';\n\t\0\ufeff\u202e\ufffd😀é",
  ...["\r\n", "\n\n", "\\ud800", "\\u0000", "null", "__proto__", "constructor", "<x>", "</row>", "]]>"],
  ...["&#0;", "&amp;"],
  ...["[".repeat(40), '{"a":'.repeat(40), "A".repeat(70_000)],
];
const bytes = [0, 0xff, 0x7f, 0x80, 0xc0, 0xed, 0x0a, 0x22];

type Editor = (content: Buffer, at: number, of: number, beside: Buffer) => Buffer;

const editors: readonly Editor[] = [
  (content, at, of) => withByte(content, at, (byte) => byte ^ (1 << (of % 8))),
  (content, at, of) => withByte(content, at, () => chosen(bytes, of)),
  (content, at, of) => without(content, at, of % content.length),
  (content, at, of) => without(content, at, 1 + (of % 8)),
  (content, at) => content.subarray(0, at),
  (content, at, of, beside) =>
    Buffer.concat([content.subarray(0, at), beside.subarray(of % (beside.length + 1))]),
  (content, at, of) => inserted(content, at, Buffer.from(chosen(words, of))),
  (content, at, of) =>
    inserted(content, at, content.subarray(of % content.length).subarray(0, 1 + (of % 997))),
  (content, at, of) =>
    inserted(content, at, Buffer.concat(Array(1 + (of % 50)).fill(content.subarray(at, at + 40)))),
  (content, at, of) => replaced(content, /\d+/g, at, () => chosen(numbers, of)),
  (content, at, of) =>
    replaced(content, /[A-Za-z]+/g, at, (word) => (of % 2 ? word.toUpperCase() : `${word} `)),
  (content, at) => replaced(content, /[^\n]*\n/g, at, (line) => line + line),
  (content, at) => replaced(content, /[^\n]*\n/g, at, () => ""),
  (content) => Buffer.concat([content, content]),
];

const withByte = (content: Buffer, at: number, change: (byte: number) => number) =>
  Buffer.from(content.with(at, change(content[at] ?? 0)));
const inserted = (content: Buffer, at: number, more: Uint8Array) =>
  Buffer.concat([content.subarray(0, at), more, content.subarray(at)]);
const without = (content: Buffer, at: number, length: number) =>
  Buffer.concat([content.subarray(0, at), content.subarray(at + length)]);

function replaced(content: Buffer, pattern: RegExp, at: number, change: (text: string) => string): Buffer {
  const all = [...content.toString("latin1").matchAll(pattern)];
  if (all.length === 0) return content;
  const { 0: text, index } = chosen(all, at);
  return inserted(without(content, index, text.length), index, Buffer.from(change(text)));
}

/** Edits JSON as values in half of the cases, else as bytes. @param beside bytes that some edits use */
export function editBytes(content: Buffer, beside: Buffer, { how, at, of }: Edit): Buffer {
  const value = how % 2 === 0 ? jsonOf(content) : undefined;
  if (typeof value === "object" && value !== null)
    return editedJson(value, jsonOf(beside), { how: how >> 1, at, of });
  return content.length === 0 ? beside : chosen(editors, how >> 1)(content, at % content.length, of, beside);
}

type Values = { [name: string]: unknown };

/** A suffix of a member's name, removed when the JSON is written, so that the name occurs twice. */
const again = "\u0000again";
const others: unknown[] = JSON.parse(
  '[null,true,0,-1,1.5,9007199254740992,1e300,"","x","\\u0000","\\ud800",[],{},[[]],["RS256"],{"a":{}}]',
);
const names = ["__proto__", "constructor", "toString", "length", "", "kid", "ıss", "a".repeat(5_000)];

const jsonEditors: readonly ((holder: Values, name: string, of: number, other: () => unknown) => void)[] = [
  (holder, name, of) => put(holder, name, chosen(others, of)),
  (holder, name, _, other) => put(holder, name, other()),
  (holder, name, _, other) => put(holder, String(other()), holder[name]),
  (holder, name) => delete holder[name],
  (holder, name, of) => put(holder, chosen(names, of), holder[name]),
  (holder, name, of) => put(holder, `${name}${again}`, of % 2 ? holder[name] : chosen(others, of)),
  (holder, name, of) => put(holder, name, nested(holder[name], of % 40)),
  (holder, name, of) => put(holder, name, Array(of % 40).fill(holder[name])),
  (holder, name, of) => put(holder, name, `${holder[name]}${chosen(words, of)}`),
];

const nested = (value: unknown, depth: number): unknown => (depth === 0 ? value : [nested(value, depth - 1)]);
/** Sets a member, but makes no array longer: with a time as its length, its JSON would need all memory. */
const put = (holder: Values, name: string, value: unknown) =>
  Array.isArray(holder) && (name === "length" || Number(name) >= holder.length)
    ? holder
    : Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });

function editedJson(value: object, beside: unknown, { how, at, of }: Edit): Buffer {
  const all: { holder: Values; name: string }[] = [];
  const visit = (holder: Values) => {
    for (const [name, inner] of Object.entries(holder)) {
      all.push({ holder, name });
      if (typeof inner === "object" && inner !== null) visit(inner as Values);
    }
  };
  visit(value as Values);
  if (all.length > 0) {
    const { holder, name } = chosen(all, at);
    const from = chosen(all, of);
    const other = () => (of % 2 === 0 ? beside : structuredClone(from.holder[from.name]));
    // Throws for a value whose `toString` an earlier edit has replaced.
    undefinedIfThrown(() => chosen(jsonEditors, how)(holder, name, of, other));
  }
  return Buffer.from((JSON.stringify(value) ?? "").replaceAll(JSON.stringify(again).slice(1, -1), ""));
}

function jsonOf(content: Buffer): Values | undefined {
  return undefinedIfThrown(() => JSON.parse(content.toString()));
}

export function undefinedIfThrown<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
