/** Calls whose answers are short, and are wanted whole. */
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Call, CallRequest } from '#engine/contract/in-process.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'

export interface WholeAnswer {
  readonly status: number
  readonly headers: HeaderBlock
  readonly bytes: Buffer
}

export interface WholeCall {
  abort(): void
  /** The body of the request is on the call's own account from now on. False: there is no room. */
  keepsRequest(): boolean
}

/**
 * Calls `done` once, at the earliest in the next round: with the answer, or the code of why there is none
 * (RESPONSE_NOT_BUFFERED: it is longer than bodies are that are kept).
 */
export function callWhole(
  endpoint: Endpoint,
  request: CallRequest,
  { inProcess, maxBufferBytes }: Pick<BackendContext, 'inProcess' | 'maxBufferBytes'>,
  done: (answer: WholeAnswer | ErrorCode) => void
): WholeCall {
  const pieces: Buffer[] = []
  let length = 0
  let requestBytes = 0
  let head: Pick<WholeAnswer, 'status' | 'headers'> | null = null
  let isOver = false
  const over = (answer: WholeAnswer | ErrorCode): void => {
    if (isOver) return
    isOver = true
    setImmediate(done, answer)
  }
  const call: Call = inProcess.call(endpoint, request, {
    head: (status, headers) => {
      head = { status, headers: headers.copy() }
    },
    body: (chunk, start, end) => {
      length += end - start
      if (isOver) return true
      if (length <= maxBufferBytes && call.keeps(requestBytes + length))
        pieces.push(Buffer.from(chunk.subarray(start, end)))
      else {
        over('RESPONSE_NOT_BUFFERED')
        setImmediate(() => call.abort())
      }
      return true
    },
    end: () => over(head === null ? 'UPSTREAM_PROTOCOL' : { ...head, bytes: Buffer.concat(pieces) }),
    failed: over
  })
  return {
    abort() {
      isOver = true
      call.abort()
    },
    keepsRequest() {
      requestBytes = request.body instanceof Buffer ? request.body.length : 0
      return isOver || call.keeps(requestBytes + length)
    }
  }
}
