/** Cuts a JSON text into the texts of its parts, so that each part can be judged by itself. */

/** The index after the string that opens at `quote`. */
function afterString(text: string, quote: number): number {
  let index = quote + 1;
  while (text[index] !== '"') index += text[index] === "\\" ? 2 : 1;
  return index + 1;
}

/**
 * The parts of an array or object, as they are written.
 *
 * @param text the text of one array or object, known to be JSON
 * @returns the text of each element, or of each `"name": value` pair
 */
export function sliceJson(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  let index = 0;
  while (index < text.length) {
    const character = text[index];
    if (character === '"') {
      index = afterString(text, index);
      continue;
    }
    if (character === "[" || character === "{") {
      depth++;
      if (depth === 1) start = index + 1;
    }
    const isEnd = (character === "]" || character === "}") && depth-- === 1;
    if (isEnd || (character === "," && depth === 1)) {
      parts.push(text.slice(start, index).trim());
      start = index + 1;
    }
    index++;
  }
  return parts.filter((part) => part !== "");
}

/**
 * The members of an object, as they are written: duplicates are kept.
 *
 * @param text the text of one object, known to be JSON
 */
export function sliceMembers(text: string): { name: string; value: string }[] {
  return sliceJson(text).map((part) => {
    const end = afterString(part, 0);
    return {
      name: JSON.parse(part.slice(0, end)) as string,
      value: part.slice(part.indexOf(":", end) + 1).trim(),
    };
  });
}
