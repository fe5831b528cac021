/**
 * The ROCA fingerprint (CVE-2017-15361; Nemec et al., "The Return of Coppersmith's Attack", 2017).
 *
 * The broken generator makes primes of the form `k·M + (65537^a mod M)`, M a product of small primes. So for
 * each small prime that divides M, the modulus is a power of 65537 as well. Below are the discriminators of
 * the published test: the primes for which powers of 65537 are not simply everything. A random modulus
 * passes all of them with a chance of one in 2^28.
 */

const generator = 65537;
const discriminators = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157];

function powersModulo(prime: number): Set<number> {
  const powers = new Set<number>();
  let power = 1;
  while (!powers.has(power)) {
    powers.add(power);
    power = (power * generator) % prime;
  }
  return powers;
}

const subgroups = discriminators.map((prime) => ({ prime: BigInt(prime), powers: powersModulo(prime) }));

/**
 * Whether an RSA modulus carries the fingerprint of the broken generator.
 *
 * @param modulus the public modulus n
 */
export function hasRocaFingerprint(modulus: bigint): boolean {
  return subgroups.every(({ prime, powers }) => powers.has(Number(modulus % prime)));
}
