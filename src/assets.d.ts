/** Declares the files that are imported as text and are embedded in the executable. */

declare module "embedded-text" {
  const text: string;
  export default text;
}

declare module "*.yml" {
  export { default } from "embedded-text";
}
declare module "*.sql" {
  export { default } from "embedded-text";
}
declare module "*.csv" {
  export { default } from "embedded-text";
}
declare module "*.css" {
  export { default } from "embedded-text";
}
declare module "*.bash" {
  export { default } from "embedded-text";
}
declare module "*.fish" {
  export { default } from "embedded-text";
}
declare module "*.zsh" {
  export { default } from "embedded-text";
}

/** Licence texts, the partners' npm package in base64 (`*.bundle.txt`) and type declarations (`*.types.txt`). */
declare module "*.txt" {
  export { default } from "embedded-text";
}
declare module "*.client.js" {
  export { default } from "embedded-text";
}
declare module "*.bundle.js" {
  export { default } from "embedded-text";
}
declare module "*.sh" {
  export { default } from "embedded-text";
}
declare module "*.md" {
  export { default } from "embedded-text";
}
