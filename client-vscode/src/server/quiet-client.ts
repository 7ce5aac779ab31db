// The library's client without its own pop-ups: the log has what it says, and the user is told by us.
import { LanguageClient } from "vscode-languageclient/node";

export class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}
