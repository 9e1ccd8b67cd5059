/**
 * Which requests are to be followed (docs/explain.md): tokens that the main thread signs and workers verify, and how
 * often each may still be used, in memory that all of them share.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { ARMED_MAX } from '#engine/story/trace-limits.ts'

/** As workers get it. */
export interface SharedTraces {
  readonly cells: SharedArrayBuffer
  /** Of tokens, 32 bytes. */
  readonly key: Uint8Array
}

export interface ArmedTrace {
  readonly id: string
  readonly token: string
  /** Milliseconds since 1970. */
  readonly expires: number
}

/** Serial number of the last that was armed. */
const LAST = 0
/** Serial number of an armed trace, and the uses that it has left, in one cell: both change together. */
const ROWS = 1
const USES_BITS = 8n
const EXPIRIES = ROWS + ARMED_MAX
/** By worker: the last serial number that it knows of. */
const KNOWN = EXPIRIES + ARMED_MAX

/** `id.expires.uses.mac`; ids are serial numbers of the process. */
const TOKEN = /^([1-9]\d{0,14})\.(\d{1,16})\.(\d{1,3})\.([\w-]{43})$/

export class ArmedTraces {
  readonly shared: SharedTraces
  readonly #cells: BigInt64Array

  constructor(shared: SharedTraces) {
    this.shared = shared
    this.#cells = new BigInt64Array(shared.cells)
  }

  static create(workers: number): ArmedTraces {
    const cells = new SharedArrayBuffer((KNOWN + workers) * BigInt64Array.BYTES_PER_ELEMENT)
    return new ArmedTraces({ cells, key: randomBytes(32) })
  }

  /** Of the main thread only. Null: ARMED_MAX are good already. */
  arm(uses: number, lifetimeMs: number, now: number): ArmedTrace | null {
    const cells = this.#cells
    for (let row = 0; row < ARMED_MAX; row++) {
      if (this.#isGood(row, now)) continue
      const serial = Atomics.load(cells, LAST) + 1n
      const expires = now + lifetimeMs
      Atomics.store(cells, EXPIRIES + row, BigInt(expires))
      Atomics.store(cells, ROWS + row, (serial << USES_BITS) | BigInt(uses))
      Atomics.store(cells, LAST, serial)
      const signed = `${serial}.${expires}.${uses}`
      return { id: String(serial), token: `${signed}.${this.#mac(signed).toString('base64url')}`, expires }
    }
    return null
  }

  /** The id that `token` stands for, of which one use is taken; null: it is forged, expired or used up. */
  take(token: string, now: number): string | null {
    const [, id, expires, uses, mac] = TOKEN.exec(token) ?? []
    if (id === undefined || Number(expires) <= now) return null
    if (!timingSafeEqual(Buffer.from(mac!, 'base64url'), this.#mac(`${id}.${expires}.${uses}`))) return null
    return this.#takeUse(BigInt(id)) ? id : null
  }

  /** When the last good token expires; 0: there is none. */
  armedUntil(now: number): number {
    let until = 0
    for (let row = 0; row < ARMED_MAX; row++) if (this.#isGood(row, now)) until = Math.max(until, this.#expiry(row))
    return until
  }

  /** `worker` acts on all that has been armed so far. */
  know(worker: number): void {
    Atomics.store(this.#cells, KNOWN + worker, Atomics.load(this.#cells, LAST))
    Atomics.notify(this.#cells, KNOWN + worker)
  }

  /** Resolves when all `workers` know what is armed now; those that do not run are waited for `maxMs`. */
  async known(workers: number, maxMs: number): Promise<void> {
    const last = Atomics.load(this.#cells, LAST)
    await Promise.all(Array.from({ length: workers }, (_, worker) => this.#knownBy(worker, last, maxMs)))
  }

  async #knownBy(worker: number, serial: bigint, maxMs: number): Promise<void> {
    for (;;) {
      const at = Atomics.load(this.#cells, KNOWN + worker)
      if (at >= serial) return
      if ((await Atomics.waitAsync(this.#cells, KNOWN + worker, at, maxMs).value) === 'timed-out') return
    }
  }

  #takeUse(serial: bigint): boolean {
    const cells = this.#cells
    for (let row = ROWS; row < EXPIRIES; row++) {
      let cell = Atomics.load(cells, row)
      while (cell >> USES_BITS === serial && BigInt.asUintN(Number(USES_BITS), cell) > 0n) {
        const before = Atomics.compareExchange(cells, row, cell, cell - 1n)
        if (before === cell) return true
        cell = before
      }
    }
    return false
  }

  #isGood(row: number, now: number): boolean {
    const uses = BigInt.asUintN(Number(USES_BITS), Atomics.load(this.#cells, ROWS + row))
    return uses > 0n && this.#expiry(row) > now
  }

  #expiry(row: number): number {
    return Number(Atomics.load(this.#cells, EXPIRIES + row))
  }

  #mac(signed: string): Buffer {
    return createHmac('sha256', this.shared.key).update(signed).digest()
  }
}
