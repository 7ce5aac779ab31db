// A long list of which only what is near the visible part is made: chunks are filled as they come near, and emptied when
// they are far. The heights of empty chunks are estimated first and kept from then on, so the scroll bar stays true.

const CHUNK = 40;

/** Tells when an element comes near the visible part, and when it goes. */
export type Watch = (element: Element, near: (isNear: boolean) => void) => () => void;

export interface ListSource {
  count: number;
  make(index: number): HTMLElement;
  /** The height of an item that was not made yet, in pixels. */
  estimate(index: number): number;
}

interface Chunk {
  element: HTMLElement;
  start: number;
  end: number;
  filled: boolean;
  stop(): void;
}

export class WindowedList {
  private chunks: Chunk[] = [];
  private source: ListSource = { count: 0, make: () => document.createElement("div"), estimate: () => 0 };

  constructor(
    private readonly root: HTMLElement,
    private readonly watch: Watch,
  ) {}

  /** Shows another list. */
  show(source: ListSource): void {
    this.source = source;
    for (const chunk of this.chunks) {
      chunk.stop();
    }
    this.chunks = [];
    for (let start = 0; start < source.count; start += CHUNK) {
      this.chunks.push(this.chunk(start, Math.min(start + CHUNK, source.count)));
    }
    this.root.replaceChildren(...this.chunks.map(({ element }) => element));
    for (const chunk of this.chunks) {
      chunk.stop = this.watch(chunk.element, (isNear) => (isNear ? this.fill(chunk) : this.empty(chunk)));
    }
  }

  /** The element of an item, made if need be; undefined where there is none. */
  item(index: number): HTMLElement | undefined {
    const chunk = this.chunks[Math.floor(index / CHUNK)];
    if (chunk === undefined || index < 0 || index >= this.source.count) {
      return undefined;
    }
    this.fill(chunk);
    return chunk.element.children[index - chunk.start] as HTMLElement;
  }

  /** Makes an item anew, where it is made. */
  remake(index: number): void {
    const chunk = this.chunks[Math.floor(index / CHUNK)];
    if (chunk?.filled) {
      chunk.element.children[index - chunk.start]?.replaceWith(this.source.make(index));
    }
  }

  /** Every item that is made now, with its index. */
  *made(): Iterable<[number, HTMLElement]> {
    for (const { filled, start, element } of this.chunks) {
      if (filled) {
        for (const [offset, item] of [...element.children].entries()) {
          yield [start + offset, item as HTMLElement];
        }
      }
    }
  }

  private chunk(start: number, end: number): Chunk {
    const element = document.createElement("div");
    element.className = "chunk";
    let height = 0;
    for (let index = start; index < end; index += 1) {
      height += this.source.estimate(index);
    }
    element.style.height = `${height}px`;
    return { element, start, end, filled: false, stop: () => undefined };
  }

  private fill(chunk: Chunk): void {
    if (!chunk.filled) {
      chunk.filled = true;
      chunk.element.style.height = "";
      for (let index = chunk.start; index < chunk.end; index += 1) {
        chunk.element.append(this.source.make(index));
      }
    }
  }

  private empty(chunk: Chunk): void {
    if (chunk.filled && !chunk.element.contains(document.activeElement)) {
      chunk.filled = false;
      chunk.element.style.height = `${chunk.element.offsetHeight}px`;
      chunk.element.replaceChildren();
    }
  }
}

/** Watches by what scrolls: near is within two screens. */
export function watchScrolling(scroller: Element): Watch {
  const listeners = new Map<Element, (isNear: boolean) => void>();
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        listeners.get(target)?.(isIntersecting);
      }
    },
    { root: scroller, rootMargin: "200% 0px" },
  );
  return (element, near) => {
    listeners.set(element, near);
    observer.observe(element);
    return () => {
      listeners.delete(element);
      observer.unobserve(element);
    };
  };
}
