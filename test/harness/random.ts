/** Makes a generator of pseudorandom numbers. The same seed gives the same numbers, so a failure can be repeated. */
export function seededNumbers(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
