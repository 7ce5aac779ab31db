// Who says a message, in words.
import { t } from "../text";
import type { Row } from "./conversation";

export function roleName({ role, summary }: Pick<Row, "role" | "summary">): string {
  if (summary) {
    return t("Summary");
  }
  switch (role) {
    case "user":
      return t("You");
    case "assistant":
      return t("Assistant");
    case "tool":
      return t("Tool result");
    case "system":
    case "developer":
      return t("System");
    default:
      return role || t("Message");
  }
}
