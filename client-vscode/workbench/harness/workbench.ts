// Drives a workbench in Chromium as a person would: the palette, the status bar, editors, views, the chat.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type FrameLocator, type Locator, type Page } from "playwright-core";
import { EXTENSION } from "./editor.ts";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--disable-lcd-text",
];
const SIZE = { width: 1280, height: 800 };
const PATIENCE_MS = 60_000; // a busy machine is slow

/** A browser. It asks for nothing outside of loopback: whatever else a page wants is refused. */
export function browser(): Promise<Browser> {
  if (!existsSync(CHROMIUM)) {
    throw new Error(`${CHROMIUM} is not there; install Debian's package chromium, or name a browser with CHROMIUM=...`);
  }
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

export class Workbench {
  readonly page: Page;

  private constructor(page: Page) {
    this.page = page;
  }

  /** Opens an address and waits until the extension has started. */
  static async open(from: Browser, url: string): Promise<Workbench> {
    const context = await from.newContext({ viewport: SIZE, permissions: ["clipboard-read", "clipboard-write"] });
    await context.route(
      (address) => address.hostname !== "127.0.0.1" && address.hostname !== "localhost",
      (route) => route.abort(),
    );
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(url);
    const made = new Workbench(page);
    await made.statusItem(/Lithify/).waitFor(); // the extension is there
    return made;
  }

  /** Runs a command of the palette by its whole title. */
  async command(title: string): Promise<void> {
    await this.palette(title);
    await this.page.keyboard.press("Enter");
    await this.quickInput.waitFor({ state: "hidden" });
  }

  /** Runs a command that asks something: until its question, by its title, stands where the palette was. */
  async question(command: string, title: string): Promise<void> {
    await this.palette(command);
    await this.page.keyboard.press("Enter");
    await this.quickInput.getByText(title).waitFor();
  }

  /** The titles that the palette finds for a text. */
  async found(text: string): Promise<string[]> {
    await this.page.keyboard.press("F1");
    await this.quickInput.locator("input").first().fill(`>${text}`);
    await this.page.locator(".quick-input-list .monaco-list-row").first().waitFor();
    const titles = await this.page
      .locator(".quick-input-list .monaco-list-row")
      .evaluateAll((rows) => rows.map((row) => row.getAttribute("aria-label") ?? ""));
    await this.page.keyboard.press("Escape");
    await this.quickInput.waitFor({ state: "hidden" });
    return titles;
  }

  private async palette(title: string): Promise<void> {
    await this.page.keyboard.press("F1");
    await this.quickInput.locator("input").first().fill(`>${title}`);
    await this.page
      .locator(".quick-input-list .monaco-list-row.focused")
      .filter({ hasText: title.replace(/^.*?: /, "") })
      .waitFor();
  }

  get quickInput(): Locator {
    return this.page.locator(".quick-input-widget");
  }

  /** A line of the quick input that is open. */
  choice(text: string): Locator {
    return this.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: text }).first();
  }

  /** Opens a file by its name. */
  async openFile(name: string): Promise<void> {
    await this.page.keyboard.press("Control+P");
    await this.quickInput.locator("input").first().fill(name);
    await this.choice(name).waitFor();
    await this.page.keyboard.press("Enter");
    await this.page.locator(".tab.active").filter({ hasText: name }).waitFor();
  }

  /** An item of the status bar whose label for screen readers begins so. */
  statusItem(label: string | RegExp): Locator {
    return this.page.locator(".statusbar-item a[aria-label]").and(this.page.getByLabel(label)).first();
  }

  /** A line of the memory view. */
  memoryLine(title: string): Locator {
    return this.page.locator('.tree-explorer-viewlet-tree-view [role="treeitem"]').filter({ hasText: title }).first();
  }

  /** A message in the corner that holds a text. */
  notification(text: string | RegExp): Locator {
    return this.page.locator(".notifications-toasts").getByText(text).first();
  }

  /** The page of the sessions panel. */
  panel(): FrameLocator {
    return this.page.frameLocator("iframe.webview").frameLocator("iframe#active-frame");
  }

  /** Chooses the model of the chat. The list is opened until it has it: models come one after the other. */
  async chooseChatModel(name: string): Promise<void> {
    const chosen = this.page.locator(".interactive-session .model-picker-name");
    const offered = this.page.locator(".action-widget .title").getByText(name, { exact: true });
    for (const deadline = Date.now() + PATIENCE_MS; ; ) {
      await chosen.filter({ hasNotText: /^(Models|Auto)?$/ }).click();
      await this.page.keyboard.type(name); // the list shows some of them only when it is searched
      if (await appears(offered)) {
        break;
      }
      if (Date.now() > deadline) {
        throw new Error(`the chat does not offer the model ${name}`);
      }
      await this.page.keyboard.press("Escape");
    }
    await offered.click();
    await chosen.getByText(name, { exact: true }).waitFor();
  }

  /** Sends a text to the chat. */
  async chat(text: string): Promise<void> {
    await this.page.locator(".interactive-session .chat-editor-container .monaco-editor").first().click();
    await this.page.keyboard.press("Control+A");
    await this.page.keyboard.type(text, { delay: 5 });
    await this.page.keyboard.press("Escape"); // the list of completions
    await this.page.keyboard.press("Enter");
  }

  /** Changes a text that was sent to the chat, and sends it again. */
  async edit(text: string, into: string): Promise<void> {
    await this.page.locator(".interactive-request").filter({ hasText: text }).click();
    await this.page.locator(".interactive-request.editing .monaco-editor.focused").waitFor();
    await this.page.keyboard.press("Control+A");
    await this.page.keyboard.type(into, { delay: 5 });
    await this.page.keyboard.press("Enter"); // Escape would give up the change
  }

  /** Reloads the window, and waits until the extension has started again. */
  async reload(): Promise<void> {
    const loaded = this.page.waitForEvent("load");
    await this.palette("Developer: Reload Window");
    await this.page.keyboard.press("Enter");
    await loaded;
    await this.statusItem(/Lithify/).waitFor();
  }

  /** The newest answer of the chat. */
  get answer(): Locator {
    return this.page.locator(".interactive-response").last();
  }

  /** The views at the left. */
  get sideBar(): Locator {
    return this.page.locator(".part.sidebar");
  }

  /** The chat at the right. */
  get chatBar(): Locator {
    return this.page.locator(".part.auxiliarybar");
  }

  /** Keeps a picture of where a test failed. */
  async keepFailure({ name, result }: { name: string; result?: { state: string } }): Promise<void> {
    if (result?.state === "fail") {
      await this.picture(`failed/${name.replace(/\W+/g, "-").slice(0, 60)}`);
    }
  }

  /** Keeps a picture, of a part or of all, for people to look at; with KEEP_SCREENSHOTS=1 it is one of the repository's. */
  async picture(name: string, part?: Locator): Promise<void> {
    const folder = join(EXTENSION, process.env.KEEP_SCREENSHOTS === "1" ? "screenshots" : ".workbench/screenshots");
    mkdirSync(folder, { recursive: true });
    await this.page.mouse.move(640, 20); // nothing is hovered
    const options = { path: join(folder, `${name}.png`), animations: "disabled", caret: "hide" } as const;
    await (part === undefined ? this.page.screenshot(options) : part.screenshot(options));
  }
}

/** Whether something comes into sight within a second. */
function appears(locator: Locator): Promise<boolean> {
  return locator.waitFor({ timeout: 1_000 }).then(
    () => true,
    () => false,
  );
}
