/** C libraries, over whichever foreign function interface this runtime has. */

import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";

type CType = "i32" | "u32" | "i64" | "usize" | "pointer" | "void";
type Signature = { readonly args: readonly CType[]; readonly returns: CType };

declare const address: unique symbol;
/** Where something lies in memory: a number on Bun, an object on Deno. */
export type Address = { readonly [address]: true };

type Value<T extends CType> = T extends "pointer" ? Address | null : T extends "void" ? undefined : number;
type Values<T extends readonly CType[]> = { -readonly [I in keyof T]: Value<T[I]> };
type Functions<T extends Record<string, Signature>> = {
  readonly [N in keyof T]: (...args: Values<T[N]["args"]>) => Value<T[N]["returns"]>;
};

/** A library that is open in this thread. */
export type Library<T extends Record<string, Signature>> = {
  readonly functions: Functions<T>;
  /** The address of an array. It does not keep the array alive: the caller holds the array while C uses it. */
  addressOf(array: Uint8Array | BigUint64Array): Address;
  /** The same as a number, to be stored where C expects a pointer to a pointer. */
  numberOf(array: Uint8Array | BigUint64Array): bigint;
};

/**
 * Absolute paths only: for a bare name Bun would also search the working directory and load a library from there.
 */
const libraryFolders = [
  "/usr/lib/x86_64-linux-gnu",
  "/usr/lib/aarch64-linux-gnu",
  "/lib/x86_64-linux-gnu",
  "/lib/aarch64-linux-gnu",
  "/usr/lib64",
  "/lib64",
  "/usr/lib",
  "/lib",
  "/usr/local/lib64",
  "/usr/local/lib",
];

/** The path of a library in the distributions' folders; undefined if it is in none. */
export function findLibrary(name: string): string | undefined {
  return libraryFolders.map((folder) => `${folder}/${name}`).find((file) => existsSync(file));
}

/**
 * Opens a library; on Deno that needs `--allow-ffi`, as libSQL does.
 * @param file its whole path; another one is refused
 * @throws Error when the library or a function is missing, or the runtime or a permission does not allow it
 */
export async function openLibrary<const T extends Record<string, Signature>>(
  file: string,
  functions: T,
): Promise<Library<T>> {
  if (!isAbsolute(file)) throw new Error("a library is opened by its whole path");
  // Each interface is loaded where it exists only: neither runtime knows the other's.
  if ("Bun" in globalThis) return openWithBun(file, functions);
  if ("Deno" in globalThis) return openWithDeno(file, functions);
  throw new Error("this runtime has no foreign function interface");
}

/** Bytes at a fixed address: Bun moves those of a small array when its buffer is first read. */
export function fixedBytes(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new ArrayBuffer(length));
}

async function openWithBun<T extends Record<string, Signature>>(file: string, functions: T) {
  const { dlopen, ptr } = await import("bun:ffi");
  const { symbols } = dlopen(file, functions as Parameters<typeof dlopen>[1]);
  return {
    functions: symbols as unknown as Functions<T>,
    addressOf: (array: Uint8Array | BigUint64Array) => ptr(array) as unknown as Address,
    numberOf: (array: Uint8Array | BigUint64Array) => BigInt(ptr(array)),
  };
}

type DenoInterface = {
  dlopen(
    file: string,
    symbols: Record<string, { readonly parameters: readonly CType[]; readonly result: CType }>,
  ): { readonly symbols: object };
  readonly UnsafePointer: {
    of(array: Uint8Array | BigUint64Array): Address;
    value(pointer: Address): bigint;
  };
};

function openWithDeno<T extends Record<string, Signature>>(file: string, functions: T): Library<T> {
  const { dlopen, UnsafePointer } = (globalThis as unknown as { Deno: DenoInterface }).Deno;
  const named = Object.entries(functions).map(([name, { args, returns }]) => {
    return [name, { parameters: args, result: returns }] as const;
  });
  return {
    functions: dlopen(file, Object.fromEntries(named)).symbols as Functions<T>,
    addressOf: (array) => UnsafePointer.of(array),
    numberOf: (array) => BigInt(UnsafePointer.value(UnsafePointer.of(array))),
  };
}
