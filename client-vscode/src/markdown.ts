// Foreign text inside Markdown: it is shown as the characters it is, never as links, images or HTML.

const SPECIAL = /[\\`*_{}[\]()#+\-.!|~<>&$:@]/g;

/** A text on one line that Markdown shows as it stands. */
export function escaped(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .trim()
    .replace(SPECIAL, (one) => (one === "&" ? "&amp;" : one === "<" ? "&lt;" : `\\${one}`));
}
