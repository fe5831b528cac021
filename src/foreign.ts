/** Calls functions of C libraries, by the foreign function interface of Bun or of Deno. */

import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";

type CType = "i32" | "u32" | "i64" | "usize" | "pointer" | "void";
type Signature = { readonly args: readonly CType[]; readonly returns: CType };

declare const address: unique symbol;
/** A memory address for C: a number on Bun, an object on Deno. */
export type Pointer = { readonly [address]: true };

type Value<T extends CType> = T extends "pointer" ? Pointer | null : T extends "void" ? undefined : number;
type Values<T extends readonly CType[]> = { -readonly [I in keyof T]: Value<T[I]> };
type Functions<T extends Record<string, Signature>> = {
  readonly [N in keyof T]: (...args: Values<T[N]["args"]>) => Value<T[N]["returns"]>;
};

export type CLibrary<T extends Record<string, Signature>> = {
  readonly functions: Functions<T>;
  /** Returns the memory address of an array. The caller must keep the array alive while C uses the address. */
  addressOf(array: Uint8Array | BigUint64Array): Pointer;
  /** Returns an array's memory address as a number, which the caller writes into an array of pointers for C. */
  numberOf(array: Uint8Array | BigUint64Array): bigint;
};

/** The library folders of Linux distributions. Bun would look for a bare file name in the working folder too. */
const libraryFolders = ["lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64", "lib"].flatMap((folder) =>
  ["/usr", "", "/usr/local"].map((root) => `${root}/${folder}`),
);

/** Finds a library in the folders of Linux distributions. @returns its path, undefined if it is not installed */
export function findCLibrary(name: string): string | undefined {
  return libraryFolders.map((folder) => `${folder}/${name}`).find((file) => existsSync(file));
}

/**
 * Opens a C library. Deno needs `--allow-ffi` for this; libSQL needs that permission too.
 * @param file the library's absolute path
 * @throws Error if the library or a function is missing, or the runtime or a permission does not allow it
 */
export async function openCLibrary<const T extends Record<string, Signature>>(
  file: string,
  functions: T,
): Promise<CLibrary<T>> {
  if (!isAbsolute(file)) throw new Error("a library is opened by its whole path");
  // Each runtime has only its own interface, so loading the other one would fail.
  if ("Bun" in globalThis) return openWithBun(file, functions);
  if ("Deno" in globalThis) return openWithDeno(file, functions);
  throw new Error("this runtime has no foreign function interface");
}

/** Makes an array whose bytes never move in memory. Bun moves another small array's bytes at the first read of `buffer`. */
export function makeFixedBytes(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new ArrayBuffer(length));
}

async function openWithBun<T extends Record<string, Signature>>(file: string, functions: T) {
  const { dlopen, ptr } = await import("bun:ffi");
  const { symbols } = dlopen(file, functions as Parameters<typeof dlopen>[1]);
  return {
    functions: symbols as unknown as Functions<T>,
    addressOf: (array: Uint8Array | BigUint64Array) => ptr(array) as unknown as Pointer,
    numberOf: (array: Uint8Array | BigUint64Array) => BigInt(ptr(array)),
  };
}

type DenoInterface = {
  dlopen(
    file: string,
    symbols: Record<string, { readonly parameters: readonly CType[]; readonly result: CType }>,
  ): { readonly symbols: object };
  readonly UnsafePointer: {
    of(array: Uint8Array | BigUint64Array): Pointer;
    value(pointer: Pointer): bigint;
  };
};

function openWithDeno<T extends Record<string, Signature>>(file: string, functions: T): CLibrary<T> {
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
