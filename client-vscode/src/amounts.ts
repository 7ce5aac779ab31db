// Numbers and names as people read them: bytes, tokens, messages, shares, times, models.
import { t } from "./text";

/** Bytes as whole kilobytes (1024 bytes), never 0 for something that is there. */
export function kilobytes(bytes: number): string {
  return grouped(bytes > 0 ? Math.max(1, Math.round(bytes / 1024)) : 0);
}

/** A count with its thousands apart, in the English way. */
export function grouped(count: number): string {
  return count.toLocaleString("en-GB");
}

/** Tokens in few characters: 950, 1.2k, 14k, 1.3M. */
export function shortTokens(tokens: number): string {
  if (tokens < 1000) {
    return String(tokens);
  }
  const [amount, unit] = tokens < 999_500 ? [tokens / 1000, "k"] : [tokens / 1_000_000, "M"];
  return `${amount < 9.95 ? amount.toFixed(1).replace(/\.0$/, "") : Math.round(amount)}${unit}`;
}

/** A share between 0 and 1 as whole percent, rounded down: 80 % is said when 80 % are reached. */
export function percent(share: number): string {
  return `${Math.floor(share * 100)} %`;
}

export function messages(count: number): string {
  return count === 1 ? t("1 message") : t("{0} messages", grouped(count));
}

export function tokens(count: number): string {
  return count === 1 ? t("1 token") : t("{0} tokens", grouped(count));
}

export function entries(count: number): string {
  return count === 1 ? t("1 entry") : t("{0} entries", grouped(count));
}

export function records(count: number): string {
  return count === 1 ? t("1 memory record") : t("{0} memory records", grouped(count));
}

/** How long ago a time is, in words; `now` in milliseconds since 1970. */
export function ago(time: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (seconds < 60) {
    return t("just now");
  }
  if (seconds < 3600) {
    return t("{0} min ago", Math.floor(seconds / 60));
  }
  return seconds < 86_400 ? t("{0} h ago", Math.floor(seconds / 3600)) : t("{0} d ago", Math.floor(seconds / 86_400));
}

/** Who answered, by name: the model where it is known, else the way to it. */
export function modelName(provider: string, model: string | null | undefined): string {
  return provider === "offline" ? t("the offline model") : (model ?? provider);
}
