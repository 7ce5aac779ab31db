// Failures of the connection to the server, as the JSON-RPC library numbers them.

/** Written, read or answered no more; and a connection that was closed or disposed. */
const LOST = new Set([-32099, -32098, -32097, -32096, 1, 2]);

/** Whether a request failed because the server, or the connection to it, ended. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof Error && LOST.has((error as { code?: number }).code ?? 0);
}
