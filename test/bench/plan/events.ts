/** Simulated time: what happens when, and who waits for whom. All times are seconds. */

export type Timeline = {
  now(): number;
  /** Does something so many seconds from now; what is due at once happens in the order in which it was asked for. */
  after(seconds: number, act: () => void): void;
  /** Goes through time until nothing is left to happen, or until somebody says that it is enough. */
  run(isOver: () => boolean): void;
};

type Event = { readonly time: number; readonly order: number; readonly act: () => void };

const isBefore = (one: Event, other: Event) =>
  one.time < other.time || (one.time === other.time && one.order < other.order);

/** A heap of what is to come, the next at the top. */
export function createTimeline(): Timeline {
  const heap: Event[] = [];
  let now = 0;
  let asked = 0;

  function rise(event: Event): void {
    let at = heap.length;
    while (at > 0) {
      const parent = heap[(at - 1) >> 1] as Event;
      if (!isBefore(event, parent)) break;
      heap[at] = parent;
      at = (at - 1) >> 1;
    }
    heap[at] = event;
  }
  /** Puts the last one where the first was, and lets it down to its place. */
  function sink(event: Event): void {
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, heap[child] as Event)) child++;
      if (!isBefore(heap[child] as Event, event)) break;
      heap[at] = heap[child] as Event;
      at = child;
    }
    heap[at] = event;
  }
  function takeNext(): Event | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (heap.length > 0 && last !== undefined) sink(last);
    return first;
  }

  return {
    now: () => now,
    after: (seconds, act) => rise({ time: now + seconds, order: asked++, act }),
    run(isOver) {
      for (let event = takeNext(); event !== undefined; event = takeNext()) {
        now = event.time;
        event.act();
        if (isOver()) return;
      }
    },
  };
}

/** A line whose head can be taken without moving the rest. */
export type Line<T> = { readonly length: number; push(item: T): void; take(): T | undefined };

export function createLine<T>(): Line<T> {
  let items: T[] = [];
  let head = 0;
  return {
    get length() {
      return items.length - head;
    },
    push: (item) => void items.push(item),
    take() {
      if (head === items.length) return undefined;
      const item = items[head++];
      if (head > 1_000 && head * 2 > items.length) {
        items = items.slice(head);
        head = 0;
      }
      return item;
    },
  };
}

/** Some of a kind (cores, connections, the lock of the database): who finds none free waits in line. */
export type Places = {
  /** @param act is told when it has one, and gives it back by the call that it is handed */
  take(act: (giveBack: () => void) => void): void;
  /** Takes one for so long. */
  use(seconds: number, done: () => void): void;
  /** For how long they were taken since `reset`, all together. */
  taken(): number;
  reset(): void;
};

export function createPlaces(timeline: Timeline, count: number): Places {
  const waiting = createLine<(giveBack: () => void) => void>();
  let free = count;
  let total = 0;
  let since = 0;

  function settle(): void {
    total += (count - free) * (timeline.now() - since);
    since = timeline.now();
  }
  function giveBack(): void {
    settle();
    free++;
    const next = waiting.take();
    if (next !== undefined) hand(next);
  }
  function hand(act: (giveBack: () => void) => void): void {
    settle();
    free--;
    act(giveBack);
  }
  const take: Places["take"] = (act) => (free > 0 ? hand(act) : waiting.push(act));
  return {
    take,
    use: (seconds, done) =>
      take((giveBack) =>
        timeline.after(seconds, () => {
          giveBack();
          done();
        }),
      ),
    taken() {
      settle();
      return total;
    },
    reset() {
      settle();
      total = 0;
    },
  };
}
