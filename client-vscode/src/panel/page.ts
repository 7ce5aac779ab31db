// The page of the sessions panel: an empty body, and what it may load under a strict policy.

/** Where the page's own files are, and what the webview calls their origin. */
export interface PageSources {
  script: string;
  style: string;
  origin: string;
  nonce: string;
}

/** The HTML. All text comes later, as messages; nothing foreign ever stands in it. */
export function pageHtml({ script, style, origin, nonce }: PageSources): string {
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${origin}`;
  return `<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style}">
</head>
<body>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}
