// Whether the texts of a page can be read: their contrast to what is behind them.

/** Texts of a page whose contrast to what is behind them is below 4.5 to 1 (disabled ones aside). Runs in the page. */
export function faintTexts(body: Element): string[] {
  const parts = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number) as [number, number, number, number?];
  const light = (color: string) => {
    const [r, g, b] = parts(color)
      .slice(0, 3)
      .map((one) => (one as number) / 255)
      .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element: Element | null): string => {
    for (let one = element; one !== null; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      if ((parts(color)[3] ?? 1) === 1) {
        return color;
      }
    }
    const html = getComputedStyle(document.documentElement);
    return html.getPropertyValue("--vscode-sideBar-background").replace(
      /^#(..)(..)(..)$/,
      (_, ...hex) =>
        `rgb(${hex
          .slice(0, 3)
          .map((one) => Number.parseInt(one as string, 16))
          .join(",")})`,
    );
  };
  /** A color as it is seen: mixed with what is behind it, as far as it or an element around it is transparent. */
  const seen = (element: Element, color: string): string => {
    let share = parts(color)[3] ?? 1;
    for (let one: Element | null = element; one !== null; one = one.parentElement) {
      share *= Number(getComputedStyle(one).opacity);
    }
    const back = parts(behind(element));
    const mixed = parts(color).map((one, index) => share * (one as number) + (1 - share) * (back[index] as number));
    return `rgb(${mixed.slice(0, 3).join(",")})`;
  };
  const faint: string[] = [];
  for (const element of body.querySelectorAll("*")) {
    const text = [...element.childNodes].find((one) => one.nodeType === 3 && one.textContent?.trim());
    if (text !== undefined && !element.closest(":disabled") && element.getClientRects().length > 0) {
      const [a, b] = [light(seen(element, getComputedStyle(element).color)), light(behind(element))].sort(
        (x, y) => y - x,
      ) as [number, number];
      if ((a + 0.05) / (b + 0.05) < 4.5) {
        faint.push(`${text.textContent} ${getComputedStyle(element).color} on ${behind(element)}`);
      }
    }
  }
  return faint;
}
