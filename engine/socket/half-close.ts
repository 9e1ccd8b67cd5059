/**
 * The end of what one side sends, over Node's handles: asked for once, behind everything that was written. Two of
 * libuv's rules make it a thing of its own: a second shutdown is an error, and a handle whose shutdown is under way
 * cannot be reset (uv_tcp_close_reset: EINVAL), after which Node takes it for closed and never closes it.
 */
import type { Handle, Handles } from './handles.ts'

const WAITS = 1
const REQUESTED = 2
const SENT = 3

export class HalfClose {
  readonly #handle: Handle
  readonly #handles: Handles
  #step = WAITS
  #then: () => void = () => {}

  constructor(handle: Handle, handles: Handles) {
    this.#handle = handle
    this.#handles = handles
  }

  /** The system has been asked and has not answered. */
  get isUnderWay(): boolean {
    return this.#step === REQUESTED
  }

  /** `then` is called when the end has been said, instead of what was to be called before. */
  expect(then: () => void): void {
    this.#then = then
    if (this.#step === SENT) then()
  }

  /** Nothing that was written is under way. Returns a negative error of the system, or 0. */
  say(): number {
    if (this.#step !== WAITS) return 0
    this.#step = REQUESTED
    const request = this.#handles.newShutdown()
    request.oncomplete = () => {
      this.#step = SENT
      this.#then()
    }
    return this.#handle.shutdown(request)
  }
}
