// Answers `lithify/complete`: the server's questions to the editor's language model.
import * as vscode from "vscode";
import type { CancelComplete, CompleteParams, Completion } from "../protocol";
import type { Server } from "../server/server";
import { t } from "../text";
import { chooseModel, lacksConsent, modelOptions, OWN_VENDOR, type Reason, reasonOf } from "./choosing";

const LAST_CHOSEN = "lithify.lastChosenModel";

/** Whether VS Code has a language model that can write summaries. */
export async function hasModel(): Promise<boolean> {
  return chooseModel(await vscode.lm.selectChatModels(), undefined, undefined) !== undefined;
}

/** Remembers the model of a chat: summaries that name none are asked of it. */
export function rememberModel(context: vscode.ExtensionContext, model: vscode.LanguageModelChat): void {
  if (model.vendor !== OWN_VENDOR) {
    context.globalState.update(LAST_CHOSEN, model.id);
  }
}

/** Has every client of the server answer its questions. Where the server ends, its questions are taken back. */
export function answerCompletions(context: vscode.ExtensionContext, server: Server): vscode.Disposable {
  const asked = new Map<string, vscode.CancellationTokenSource>();
  server.prepare((client) => {
    client.onRequest("lithify/complete", async (params: CompleteParams, token: vscode.CancellationToken) => {
      const stopping = new vscode.CancellationTokenSource();
      const passedOn = token.onCancellationRequested(() => stopping.cancel());
      asked.set(params.requestId, stopping);
      try {
        return await complete(context, params, stopping.token);
      } catch (error) {
        throw await asAnswer(error);
      } finally {
        asked.delete(params.requestId);
        passedOn.dispose();
        stopping.dispose();
      }
    });
    client.onNotification("lithify/cancelComplete", ({ requestId }: CancelComplete) => asked.get(requestId)?.cancel());
  });
  return server.onDidChangeState((state) => {
    if (state !== "running") {
      for (const stopping of asked.values()) {
        stopping.cancel();
      }
    }
  });
}

/** Starts the server anew when the first language model comes, or the last one goes: it is told at its start only. */
export function followModels(server: Server): vscode.Disposable {
  return vscode.lm.onDidChangeChatModels(async () => {
    if (server.state === "running" && (await hasModel()) !== server.saidModel) {
      await server.restart().catch(() => undefined); // the status bar tells why it does not run
    }
  });
}

async function complete(
  context: vscode.ExtensionContext,
  params: CompleteParams,
  token: vscode.CancellationToken,
): Promise<Completion> {
  const models = await vscode.lm.selectChatModels();
  const model = chooseModel(models, params.model, context.globalState.get(LAST_CHOSEN));
  if (model === undefined) {
    throw new Refusal("no_model", t("VS Code has no language model"));
  }
  const consent = context.languageModelAccessInformation.canSendRequest(model);
  const lacking = lacksConsent(params.userInitiated, consent);
  if (lacking !== undefined) {
    throw new Refusal(lacking, model.name);
  }
  const messages = asMessages(params);
  const inputTokens = await sizeWithin(model, messages, token);
  const text = await answer(model, messages, params, token);
  return { text, model: model.name, usage: { inputTokens, outputTokens: await model.countTokens(text, token) } };
}

/** The models know no system role: the system text goes first, as a user's message. */
function asMessages({ systemPrompt, message }: CompleteParams): vscode.LanguageModelChatMessage[] {
  const text = message.content.map((part) => part.text).join("");
  return [systemPrompt, text].filter((one) => one !== "").map((one) => vscode.LanguageModelChatMessage.User(one));
}

async function sizeWithin(
  model: vscode.LanguageModelChat,
  messages: vscode.LanguageModelChatMessage[],
  token: vscode.CancellationToken,
): Promise<number> {
  const sizes = await Promise.all(messages.map((message) => model.countTokens(message, token)));
  const size = sizes.reduce((sum, one) => sum + one, 0);
  if (size > model.maxInputTokens) {
    throw new Refusal(
      "context_too_long",
      t("{0} takes {1} tokens, this needs {2}", model.name, model.maxInputTokens, size),
    );
  }
  return size;
}

async function answer(
  model: vscode.LanguageModelChat,
  messages: vscode.LanguageModelChatMessage[],
  params: CompleteParams,
  token: vscode.CancellationToken,
): Promise<string> {
  const justification =
    params.purpose === "conversation"
      ? t("Lithify summarises a conversation that you compact.")
      : t("Lithify turns recorded work into memory.");
  const options = { justification, modelOptions: modelOptions(params.settings) };
  const response = await model.sendRequest(messages, options, token);
  let text = "";
  for await (const part of response.text) {
    text += part;
  }
  return text;
}

/** The server gets no text, and is told why. */
class Refusal extends Error {
  constructor(
    readonly reason: Reason,
    message: string,
  ) {
    super(message);
  }
}

/** An error as an answer of the protocol, with `data.reason`. */
async function asAnswer(error: unknown): Promise<Error> {
  const { LSPErrorCodes, ResponseError } = await import("vscode-languageclient/node");
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof vscode.LanguageModelError ? error.code : undefined;
  const reason = error instanceof Refusal ? error.reason : reasonOf(code, message);
  return new ResponseError(LSPErrorCodes.RequestFailed, message, { reason });
}
