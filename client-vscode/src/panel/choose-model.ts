// Asks which model writes a summary: the usual one, one of VS Code's, or another by its name.
import * as vscode from "vscode";
import { OWN_VENDOR } from "../models/choosing";
import { t } from "../text";

/** The model's name; null for the usual one, undefined where the user gave up. */
export async function chooseModelFor(current: string | undefined): Promise<string | null | undefined> {
  const models = (await vscode.lm.selectChatModels()).filter(({ vendor }) => vendor !== OWN_VENDOR);
  const usual = {
    label: t("The usual model"),
    description: t("as the settings or the session's agent say"),
    model: null,
  };
  const named = models.map(({ id, name, family }) => ({ label: name, description: family, model: id }));
  const other = {
    label: t("Another model..."),
    description: t("by the name its provider knows it by"),
    model: undefined,
  };
  const title = t("Which model writes the summary?");
  const chosen = await vscode.window.showQuickPick([usual, ...named, other], { title, placeHolder: current });
  if (chosen !== other) {
    return chosen?.model;
  }
  const name = await vscode.window.showInputBox({ title: t("The model's name"), value: current });
  return name?.trim() || undefined;
}
