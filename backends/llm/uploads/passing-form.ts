/**
 * A long form on its way to a provider: its beginning, which has been read, and written for that provider; then what
 * comes, which is looked through for fields that would have changed who gets it, and waits for nothing but the
 * provider. Once a byte of it has gone no other provider can be asked.
 */
import { FormatError } from '#backends/llm/formats/format.ts'
import type { Form } from '#backends/llm/request/multipart.ts'
import { DESCRIBES_BYTES } from '#engine/contract/body.ts'
import type { BodyOutput, BodyProcessing, BodyProcessor } from '#engine/contract/body-processor.ts'
import { BODY_LENGTH, type Exchange } from '#engine/contract/exchange.ts'
import { letGo } from '#engine/contract/held-bytes.ts'
import { dropKept } from '#engine/contract/retry.ts'
import { Slot } from '#engine/contract/slot.ts'
import { Pieces } from '#engine/kit/pieces.ts'
import type { FormNeeds } from './form-needs.ts'
import type { FormScanner } from './form-scanner.ts'

/** What has not been sent yet is not sent any more, and the exchange ends. */
export type RefuseForm = (ex: Exchange, why: FormatError) => void

export class PassingForm {
  /** What was here when it was decided where it goes. */
  readonly form: Form
  /** Of all of it, at least; what the client says, or what may be kept. */
  readonly bytesLength: number
  readonly #ex: Exchange
  readonly #length: number
  readonly #bodies: BodyProcessing
  readonly #scanner: FormScanner
  readonly #refuse: RefuseForm
  #rest: FormRest | null = null

  constructor(
    ex: Exchange,
    form: Form,
    scanner: FormScanner,
    by: {
      readonly needs: FormNeeds
      readonly bodies: BodyProcessing
      readonly bytesLength: number
      readonly refuse: RefuseForm
    }
  ) {
    this.form = form
    this.bytesLength = by.bytesLength
    this.#ex = ex
    this.#length = ex.requestLength
    this.#bodies = by.bodies
    this.#scanner = scanner
    this.#refuse = by.refuse
    const { needs } = by
    scanner.watch = {
      begins: ({ name }) => needs.late(name),
      value: ({ name }, value) => needs.lateText(name, value)
    }
  }

  /** Of the exchange, which is about to be sent: `bytes` go instead of those that are here. Throws FormatError. */
  send(bytes: Buffer): void {
    const ex = this.#ex
    if (this.#rest?.hasBegun === true)
      throw new FormatError('', 'the provider that has got the files does not answer, and they are kept nowhere')
    for (const name of DESCRIBES_BYTES) ex.request.remove(name)
    if (ex.requestBody === BODY_LENGTH) {
      ex.requestLength = this.#length + bytes.length - this.form.bytes.length
      ex.request.append('Content-Length', String(ex.requestLength))
    }
    // What is sent is for this provider, and not for the one that another attempt may ask.
    if (ex.retry !== null) dropKept(ex, ex.retry)
    if (this.#rest !== null) this.#rest.head = bytes
    else {
      const left = ex.requestBody === BODY_LENGTH ? this.#length - this.form.bytes.length : Number.POSITIVE_INFINITY
      this.#bodies.request(ex, (output) => {
        this.#rest = new FormRest(ex, output, { scanner: this.#scanner, head: bytes, left }, this.#refuse)
        return this.#rest
      })
    }
  }
}

class FormRest implements BodyProcessor {
  /** What goes first. */
  head: Buffer
  hasBegun = false
  readonly #ex: Exchange
  readonly #output: BodyOutput
  readonly #scanner: FormScanner
  readonly #refuse: RefuseForm
  /** What has come ahead of the provider, behind `head`. */
  #waiting = new Pieces()
  /** Of the body, as the client says; infinite where it does not. */
  #left: number
  /** Null: the body has not ended. */
  #trailers: string | null = null
  #isRefused = false

  constructor(
    ex: Exchange,
    output: BodyOutput,
    { scanner, head, left }: { readonly scanner: FormScanner; readonly head: Buffer; readonly left: number },
    refuse: RefuseForm
  ) {
    this.#ex = ex
    this.#output = output
    this.#scanner = scanner
    this.head = head
    this.#left = left
    this.#refuse = refuse
  }

  write(chunk: Buffer, start: number, end: number): boolean {
    if (!this.#try(() => this.#scan(chunk, start, end))) return true
    if (this.hasBegun && this.#waiting.isEmpty) return this.#output.send(chunk, start, end)
    this.#waiting.push(chunk, start, end)
    return false
  }

  #scan(chunk: Buffer, start: number, end: number): void {
    this.#scanner.push(chunk, start, end)
    this.#left -= end - start
    // With its last byte a request of known length is whole.
    if (this.#left === 0) this.#scanner.end()
  }

  end(trailers: string): void {
    if (!this.#try(() => this.#scanner.end())) return
    this.#trailers = trailers
    if (this.hasBegun && this.#waiting.isEmpty) this.#output.end(trailers)
  }

  resume(): void {
    // It may be asked ahead of a connection.
    if (this.#ex.server === null || this.#isRefused) return
    let hasRoom = true
    if (!this.hasBegun) {
      this.hasBegun = true
      const { head } = this
      hasRoom = this.#output.send(head, 0, head.length)
      letGo(this.#ex, head.length)
      this.head = head.subarray(0, 0)
    }
    const { list } = this.#waiting
    this.#waiting = new Pieces()
    for (const piece of list) hasRoom = this.#output.send(piece, 0, piece.length)
    if (this.#trailers !== null) this.#output.end(this.#trailers)
    else if (hasRoom) this.#output.more()
  }

  /** False: the form has been refused, and nothing more of it goes on. */
  #try(step: () => void): boolean {
    if (this.#isRefused) return false
    try {
      step()
      return true
    } catch (error) {
      if (!(error instanceof FormatError)) throw error
      this.#isRefused = true
      this.#waiting = new Pieces()
      this.#refuse(this.#ex, error)
      return false
    }
  }
}

const PASSING = new Slot<PassingForm>()

/** Null: the body of `ex` is no such form, or is whole. */
export const passingForm = (ex: Exchange): PassingForm | null => (ex.slots === null ? null : PASSING.get(ex))

export function setPassingForm(ex: Exchange, form: PassingForm): void {
  PASSING.set(ex, form)
}
