/**
 * Which of the threads that share a port get its new connections.
 *
 * Linux asks a filter of the group for the number of the socket, counted in the order in which they began to listen
 * (socket(7), SO_ATTACH_REUSEPORT_CBPF), and deals by a hash while there is none. All of them listen all the time, so
 * nobody's connection is lost when that changes.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { libraryFolders, openLibrary } from "../foreign.ts";

/** Sends new connections to the thread that listened first, or to all of them. */
export type Steering = (to: "first" | "all") => void;

const libcNames = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
const functions = {
  setsockopt: { args: ["i32", "i32", "i32", "pointer", "u32"], returns: "i32" },
} as const;

/** asm-generic/socket.h */
const option = { solSocket: 1, attachFilter: 51, detachFilter: 68 };
/** linux/filter.h: `BPF_RET | BPF_K`, whose value is 0. */
const returnZero = [6, 0, 0, 0, 0, 0, 0, 0];

/**
 * Steers the connections of ports that this thread listens on already, and further ones may.
 * @returns null where this system cannot: then the kernel deals
 */
export async function openSteering(ports: readonly number[]): Promise<Steering | null> {
  try {
    const file = libcNames.flatMap((name) => libraryFolders.map((folder) => `${folder}/${name}`));
    const libc = await openLibrary(file.find((one) => existsSync(one)) ?? "", functions);
    const sockets = ports.map(listeningSocket);
    const filter = new Uint8Array(new ArrayBuffer(returnZero.length));
    filter.set(returnZero);
    // struct sock_fprog: how many instructions, and where they are.
    const program = new BigUint64Array(new ArrayBuffer(2 * BigUint64Array.BYTES_PER_ELEMENT));
    const steer: Steering = (to) => {
      program.set([1n, libc.numberOf(filter)]);
      const name = to === "first" ? option.attachFilter : option.detachFilter;
      for (const socket of sockets) {
        const address = libc.addressOf(program);
        const code = libc.functions.setsockopt(socket, option.solSocket, name, address, program.byteLength);
        if (code !== 0) throw new Error(`a port's connections cannot be steered to ${to}`);
      }
    };
    steer("first");
    steer("all");
    return steer;
  } catch {
    return null;
  }
}

/** The descriptor by which this process listens on a port; any of a group stands for all. */
function listeningSocket(port: number): number {
  const at = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const sockets = ["tcp", "tcp6"].flatMap((name) =>
    readFileSync(`/proc/self/net/${name}`, "utf8").split("\n"),
  );
  const listening = sockets
    .map((line) => line.trim().split(/\s+/))
    .filter(([, address, , state]) => state === "0A" && address?.endsWith(at))
    .map((fields) => `socket:[${fields[9]}]`);
  const descriptor = readdirSync("/proc/self/fd").find((name) => listening.includes(linkOf(name)));
  if (descriptor === undefined) throw new Error("this process does not listen there");
  return Number(descriptor);
}

/** What a descriptor leads to; the one that lists them is gone by now. */
function linkOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return "";
  }
}
