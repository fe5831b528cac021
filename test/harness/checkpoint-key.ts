import { Buffer } from "node:buffer";
import { generateKeyPairSync, sign } from "node:crypto";

/** Makes an Ed25519 key that signs checkpoints, as each evidence log has one. */
export function aCheckpointKey() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  return {
    publicKey: new Uint8Array(raw),
    sign: (message: Uint8Array) => new Uint8Array(sign(null, message, privateKey)),
  };
}
