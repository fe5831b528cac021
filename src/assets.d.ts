/** Files that are imported as text and end up inside the executable. */

declare module "*.yaml" {
  const text: string;
  export default text;
}

declare module "*.sql" {
  const text: string;
  export default text;
}

declare module "*.csv" {
  const text: string;
  export default text;
}

declare module "*.html" {
  const text: string;
  export default text;
}

declare module "*.css" {
  const text: string;
  export default text;
}

/** The scripts that complete a command line. */
declare module "*.bash" {
  const text: string;
  export default text;
}

declare module "*.fish" {
  const text: string;
  export default text;
}

declare module "*.zsh" {
  const text: string;
  export default text;
}

/** What `service install` writes, with places to fill in. */
declare module "*.in" {
  const text: string;
  export default text;
}

/** The type declarations of the partners' module, which are handed out beside it. */
declare module "*.types.txt" {
  const text: string;
  export default text;
}

declare module "*.client.js" {
  const text: string;
  export default text;
}

declare module "uplot/dist/uPlot.iife.min.js" {
  const text: string;
  export default text;
}

declare module "*.bundle.js" {
  const text: string;
  export default text;
}

/** The examples for partners, which the getting-started page shows. */
declare module "*.mjs" {
  const text: string;
  export default text;
}

declare module "*.py" {
  const text: string;
  export default text;
}

declare module "*.php" {
  const text: string;
  export default text;
}

declare module "*.java" {
  const text: string;
  export default text;
}

declare module "*.go" {
  const text: string;
  export default text;
}

declare module "*.cs" {
  const text: string;
  export default text;
}

declare module "*.sh" {
  const text: string;
  export default text;
}

/** The manual's pages. */
declare module "*.md" {
  const text: string;
  export default text;
}

/** What is used of it: its package has no types. */
declare module "saxen" {
  type Attributes = Readonly<Record<string, string>>;
  export class Parser {
    on(
      event: "openTag",
      listener: (name: string, attributes: () => Attributes, decode: (text: string) => string) => void,
    ): this;
    on(event: "closeTag", listener: (name: string) => void): this;
    on(event: "text", listener: (text: string, decode: (text: string) => string) => void): this;
    on(event: "cdata", listener: (text: string) => void): this;
    on(event: "error", listener: (error: Error) => void): this;
    write(text: string): this;
    end(): Error | undefined;
  }
}
