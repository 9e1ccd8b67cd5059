/** An owner of a wire that remembers what it hears. */
import type { WireOwner } from '#engine/socket/wire.ts'

export class Ear implements WireOwner {
  text = ''
  bytes = 0
  ends = 0
  drains = 0
  readonly errors: string[] = []
  onText: (text: string) => void = () => {}
  readonly #bytes: Buffer

  /** `bytes`: the thread's read memory. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  onRead(start: number, end: number): void {
    const text = this.#bytes.latin1Slice(start, end)
    this.bytes += end - start
    if (this.bytes < 1_000_000) this.text += text
    this.onText(text)
  }

  onEnd(): void {
    this.ends++
  }

  onError(code: string): void {
    this.errors.push(code)
  }

  onDrain(): void {
    this.drains++
  }
}
