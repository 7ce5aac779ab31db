// Foreign text where VS Code reads markup: it is shown as the characters it is, never as links, images or HTML.

const SPECIAL = /[\\`*_{}[\]()#+\-.!|~<>&$:@]/g;

/** A text on one line that Markdown shows as it stands. */
export function escaped(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .trim()
    .replace(SPECIAL, (one) => (one === "&" ? "&amp;" : one === "<" ? "&lt;" : `\\${one}`));
}

/** A text for a notification or the status bar, in which VS Code makes links of `[..](..)` and pictures of `$(..)`. */
export function unlinked(text: string): string {
  return text.replaceAll("](", "] (").replaceAll("$(", "$ (");
}
