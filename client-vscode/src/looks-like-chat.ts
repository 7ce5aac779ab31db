// Whether a document may be a chat file, so that the server is worth starting. The server itself decides what it is.

/** How much of a document's beginning is looked at, in characters. */
export const HEAD_CHARACTERS = 4_000;

const ROLE =
  /"(role|type)"\s*:\s*"(user|assistant|system|developer|tool|session_meta|response_item|summary|_system_prompt)"/;

/** @param head the first characters of the text */
export function looksLikeChat(path: string, head: string): boolean {
  if (/\.(json|jsonl|ndjson|traj)$/i.test(path)) {
    return ROLE.test(head);
  }
  return /\.md$/i.test(path) && (/[\\/]\.specstory[\\/]/.test(path) || /specstory|^_\*\*User/im.test(head));
}
