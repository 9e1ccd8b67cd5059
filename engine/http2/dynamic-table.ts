/** The dynamic table of HPACK (RFC 7541 section 2.3.2): a queue, the newest entry has the lowest index. */
import { FIELD_OVERHEAD } from './field.ts'

export class DynamicTable<T extends { readonly size: number }> {
  /** Bytes that may be in use (section 4.1), as the encoder of this direction has announced them. */
  #bytesMax: number
  /** No entry is smaller than the overhead, so there are never more of them. */
  #capacity: number
  #bytes = 0
  #inserted = 0
  #evicted = 0
  #entries: (T | undefined)[] = []
  readonly #onEvicted: ((entry: T) => void) | null

  constructor(bytesMax: number, onEvicted: ((entry: T) => void) | null = null) {
    this.#bytesMax = bytesMax
    this.#capacity = capacityOf(bytesMax)
    this.#onEvicted = onEvicted
  }

  get count(): number {
    return this.#inserted - this.#evicted
  }

  /** Entries ever inserted: the serial number of the next one. */
  get inserted(): number {
    return this.#inserted
  }

  get bytesMax(): number {
    return this.#bytesMax
  }

  /** The entry behind `age` newer ones, or undefined. */
  at(age: number): T | undefined {
    return age < this.#inserted - this.#evicted ? this.#entries[this.#slot(this.#inserted - 1 - age)] : undefined
  }

  /** One that is larger than the table empties it (section 4.4), and is not in it. */
  insert(entry: T): void {
    this.#bytes += entry.size
    this.#shrink()
    if (entry.size > this.#bytesMax) {
      this.#bytes -= entry.size
      return
    }
    this.#entries[this.#slot(this.#inserted++)] = entry
  }

  resize(bytesMax: number): void {
    this.#bytesMax = bytesMax
    this.#shrink()
    // As the size, so the slots of its entries: they are few, and this is rare.
    const kept: T[] = []
    for (let age = this.count - 1; age >= 0; age--) kept.push(this.at(age)!)
    this.#entries = []
    this.#capacity = capacityOf(bytesMax)
    for (let i = 0; i < kept.length; i++) this.#entries[this.#slot(this.#evicted + i)] = kept[i]!
  }

  #shrink(): void {
    while (this.#bytes > this.#bytesMax && this.#evicted < this.#inserted) {
      const slot = this.#slot(this.#evicted++)
      const old = this.#entries[slot]!
      this.#entries[slot] = undefined
      this.#bytes -= old.size
      this.#onEvicted?.(old)
    }
  }

  #slot(serial: number): number {
    return serial % this.#capacity
  }
}

function capacityOf(bytes: number): number {
  return Math.max(1, Math.floor(bytes / FIELD_OVERHEAD))
}
