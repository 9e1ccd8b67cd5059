/**
 * Where the parts of a Snapshot were written: `binds[0].listeners[0].routes[2].policies.csrf` -> `weir.yaml:41:7`. It
 * stands beside the Snapshot, in memory that all threads share: a worker reads it only when a place is wanted.
 */

/** Path in the Snapshot, and its place in the words of the source: text of one line. */
export type PlaceEntry = readonly [path: string, place: string]

const LINE_END = 10
const BETWEEN = '\t'

export class Places {
  /** Lines of path, tab and place, in the order of their paths. */
  readonly shared: SharedArrayBuffer
  readonly #text: Buffer

  constructor(shared: SharedArrayBuffer) {
    this.shared = shared
    this.#text = Buffer.from(shared)
  }

  /** The first of several entries for a path counts. */
  static of(entries: readonly PlaceEntry[]): Places {
    const known = new Map<string, string>()
    for (const [path, place] of entries) {
      // Names may hold any character. No field has one that would break the lines.
      if (!known.has(path) && !/[\t\n]/.test(path + place)) known.set(path, place)
    }
    const lines = [...known].map(([path, place]) => `${path}${BETWEEN}${place}\n`)
    const bytes = Buffer.from(lines.toSorted(byPath).join(''))
    const shared = new SharedArrayBuffer(bytes.length)
    bytes.copy(Buffer.from(shared))
    return new Places(shared)
  }

  /** The place of `path`, or of the nearest thing around it that has one; null: nothing has. */
  find(path: string): string | null {
    for (let at = path; at !== ''; at = around(at)) {
      const found = this.#get(at)
      if (found !== null) return found
    }
    return null
  }

  #get(path: string): string | null {
    let low = 0
    let high = this.#text.length
    while (low < high) {
      const start = this.#lineAt((low + high) >> 1)
      const end = this.#text.indexOf(LINE_END, start)
      const [known = '', place = ''] = this.#text.toString('utf8', start, end).split(BETWEEN)
      if (known === path) return place
      if (known < path) low = end + 1
      else high = start
    }
    return null
  }

  /** Start of the line that the byte at `offset` belongs to. */
  #lineAt(offset: number): number {
    return offset === 0 ? 0 : this.#text.lastIndexOf(LINE_END, offset - 1) + 1
  }
}

/** Compares paths alone: a tab is less than any character of a path, so whole lines compare in the same way. */
function byPath(a: string, b: string): number {
  return a < b ? -1 : 1
}

/** Without its last key or index; '' at the top. */
function around(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('.'), path.lastIndexOf('['), 0))
}
