/**
 * State that one policy keeps of an exchange. The policy makes its slot once, at module level, and is the only one that
 * sets it; an exchange on which nothing is set allocates nothing. What an exchange has is a list: it rarely has more
 * than two entries, so finding one is a comparison or two.
 */

export interface SlotEntry {
  readonly slot: Slot<unknown>
  value: unknown
  readonly next: SlotEntry | null
}

/** An exchange, as far as slots know it. */
export interface SlotHolder {
  slots: SlotEntry | null
}

export class Slot<T> {
  /** Null: it was not set. */
  get(ex: SlotHolder): T | null {
    const entry = this.#entry(ex)
    // Only `set` of this slot writes the value of its entry.
    return entry === null ? null : (entry.value as T)
  }

  set(ex: SlotHolder, value: T): void {
    const entry = this.#entry(ex)
    if (entry === null) ex.slots = { slot: this, value, next: ex.slots }
    else entry.value = value
  }

  #entry({ slots }: SlotHolder): SlotEntry | null {
    let entry = slots
    while (entry !== null && entry.slot !== this) entry = entry.next
    return entry
  }
}
