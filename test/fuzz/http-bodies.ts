/** Damages bodies: one wrong member, or text that no JSON writer writes. */

import { Buffer } from "node:buffer";

export const memberEdits = ["replace", "drop", "add", "rename", "wrap"] as const;
type MemberEdit = (typeof memberEdits)[number];

/** Returns a copy in which one member is replaced, removed, added, renamed or nested. */
export function edited(
  value: unknown,
  edit: MemberEdit,
  { other, at }: { other: unknown; at: number },
): unknown {
  const members: { holder: Record<string, unknown>; name: string }[] = [];
  const whole: Record<string, unknown> = { whole: structuredClone(value) };
  const walk = (holder: Record<string, unknown>) => {
    for (const [name, member] of Object.entries(holder)) {
      members.push({ holder, name });
      if (typeof member === "object" && member !== null) walk(member as Record<string, unknown>);
    }
  };
  walk(whole);
  const { holder, name } = members[at % members.length] as (typeof members)[number];
  const before = holder[name];
  const otherName = typeof other === "string" ? other : name.toUpperCase();
  const add = (added: unknown) =>
    Array.isArray(holder)
      ? holder.push(added)
      : Object.defineProperty(holder, otherName, { value: added, enumerable: true });
  if (edit === "replace") holder[name] = other;
  else if (edit === "add") add(other);
  else if (edit === "wrap") holder[name] = JSON.parse(`${"[".repeat(at % 35)}1${"]".repeat(at % 35)}`);
  else if (edit === "rename") {
    delete holder[name];
    add(before);
  } else delete holder[name];
  return whole.whole;
}

const insert = (piece: string | Uint8Array) => (text: string, at: number) =>
  Buffer.concat([Buffer.from(text.slice(0, at)), Buffer.from(piece as string), Buffer.from(text.slice(at))]);

/** Edits to text that no JSON writer writes. */
export const textEdits = [
  (text: string, at: number) => text.slice(0, at),
  (text: string) => text.replace(/^\{("[^"]*":)/, "{$1null,$1"),
  (text: string) => text.replace(/\d+/, "1e400"),
  (text: string) => text.replace(/\d+/, "-0"),
  (text: string) =>
    text.replace(/"(\w)/, (_all, letter: string) => `"\\u00${letter.charCodeAt(0).toString(16)}`),
  (text: string) => `\ufeff${text}`,
  (text: string) => `${text}${text}`,
  (text: string) => Buffer.from(text, "utf16le"),
  insert("\u0000"),
  insert('"\\ud800"'),
  insert(Buffer.from([0xff])),
  insert(" \t\r\n"),
  insert('"__proto__":{"a":1},'),
];
/** Edits with large results, which are drawn rarely. */
export const largeEdits = [
  (text: string) => text.padEnd(256 * 1024),
  (text: string) => text.padEnd(256 * 1024 + 1),
  (text: string) => text.replace(/"(?=\})/, `${"a".repeat(100_000)}"`),
  (text: string) =>
    text.replace(/\[(.+)\]/s, (_all, inner: string) => `[${new Array(101).fill(inner).join()}]`),
];
