/**
 * Work beside requests, such as fetching keys. Never more than one `end` for a `begin`, both by the worker. A policy
 * that a reload does not change keeps its own: it is not begun again. What is new begins before what is gone ends.
 */
export interface Background {
  /** The configuration is put in force. Before the one that it replaces gets its `end`. */
  begin(): void
  /** Another configuration has taken its place; exchanges that began with this one may still run. */
  end(): void
}

/** Several as one, begun and ended in their order. */
export function together(parts: readonly Background[]): Background {
  return {
    begin: () => parts.forEach((part) => void part.begin()),
    end: () => parts.forEach((part) => void part.end())
  }
}
