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
  const faint: string[] = [];
  for (const element of body.querySelectorAll("*")) {
    const text = [...element.childNodes].find((one) => one.nodeType === 3 && one.textContent?.trim());
    if (text !== undefined && !element.closest(":disabled, .leaving") && element.getClientRects().length > 0) {
      const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((x, y) => y - x) as [
        number,
        number,
      ];
      if ((a + 0.05) / (b + 0.05) < 4.5) {
        faint.push(`${text.textContent} ${getComputedStyle(element).color} on ${behind(element)}`);
      }
    }
  }
  return faint;
}
