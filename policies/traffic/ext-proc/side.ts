/** The two sides of an exchange, in one form: what the service is told of them, and what it may change. */
import {
  collectRequest,
  collectResponse,
  replaceRequestBody,
  replaceResponseBody,
  replyBytes
} from '#engine/contract/body.ts'
import {
  collectRequestPrefix,
  collectResponsePrefix,
  replaceRequestPrefix,
  replaceResponsePrefix
} from '#engine/contract/body-prefix.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_NONE, BODY_STREAM, type Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook, type Verdict } from '#engine/contract/filter.ts'
import { answer, refuse } from '#engine/contract/refuse.ts'
import { type Replacement, replaceAnswer } from '#engine/contract/replace-answer.ts'
import { schemeOf } from '#engine/contract/transport.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { hasNoContent } from '#engine/http/status.ts'
import { type Pseudo, REQUEST_PSEUDO, RESPONSE_PSEUDO } from '#policies/shared/pseudo.ts'

/** Of a body that was waited for: null, or why there is none. 'answered': the exchange has its answer already. */
export type Fault = ErrorCode | 'answered' | null

export interface Side {
  readonly name: 'request' | 'response'
  readonly headersCase: 'requestHeaders' | 'responseHeaders'
  readonly bodyCase: 'requestBody' | 'responseBody'
  readonly trailersCase: 'requestTrailers' | 'responseTrailers'
  /** Those that a service may set. */
  readonly pseudo: ReadonlyMap<string, Pseudo>
  block(ex: Exchange): HeaderBlock
  /** Pseudo headers, flat: name, value, ... */
  start(ex: Exchange): readonly string[]
  hasBody(ex: Exchange): boolean
  collect(ex: Exchange, bytesMax: number): Promise<Fault>
  collectPrefix(ex: Exchange, bytesMax: number): Promise<Fault>
  /** After `collect` or `collectPrefix`. */
  bytes(ex: Exchange): { readonly bytes: Buffer; readonly isWhole: boolean }
  /** The body of the gateway's own reply, which is there as a whole; null: of another's. */
  reply(ex: Exchange): Buffer | null
  /** What comes of the body is not what was announced. */
  stream(ex: Exchange): void
  replace(ex: Exchange, bytes: Buffer): void
  replacePrefix(ex: Exchange, bytes: Buffer): void
  /** Lines, each ended by CRLF; '' for none. */
  trailers(ex: Exchange): string
  setTrailers(ex: Exchange, lines: string): void
  /** Ends the exchange with another answer. */
  end(ex: Exchange, replacement: Replacement): Verdict
}

const NO_BYTES = Buffer.alloc(0)
/** The length and what is computed of all bytes; how they are coded a service that changes them has to keep. */
const DESCRIBES_LENGTH = ['content-length', 'content-md5', 'digest', 'content-digest', 'repr-digest']

/** What the collecting hooks of requests decide: they answer themselves. */
async function requestFault(hook: Hook, ex: Exchange): Promise<Fault> {
  return (await hook(ex)) === CONTINUE ? null : 'answered'
}

/** Those of responses call back where they fail, and then settle nothing. */
function responseFault(make: (fail: (ex: Exchange, code: ErrorCode) => void) => Hook, ex: Exchange): Promise<Fault> {
  return new Promise((resolve) => {
    const verdict = make((_, code) => resolve(code))(ex)
    if (typeof verdict === 'number') resolve(null)
    else void verdict.then(() => resolve(null))
  })
}

const sizeOf = (pieces: readonly Buffer[] | null): number =>
  pieces === null ? 0 : pieces.reduce((sum, { length }) => sum + length, 0)

export const REQUEST: Side = {
  name: 'request',
  headersCase: 'requestHeaders',
  bodyCase: 'requestBody',
  trailersCase: 'requestTrailers',
  // The method and the authority decide where it goes and what is expected of the answer.
  pseudo: new Map([...REQUEST_PSEUDO].filter(([name]) => name === ':path')),
  block: (ex) => ex.request,
  start: ({ method, authority, client, path, query }) => [
    ...[':authority', authority, ':method', method],
    ...[':path', path + query, ':scheme', schemeOf(client)]
  ],
  hasBody: (ex) => ex.requestBody !== BODY_NONE && ex.upgrade === null,
  collect: (ex, bytesMax) => requestFault(collectRequest(bytesMax), ex),
  collectPrefix: (ex, bytesMax) => requestFault(collectRequestPrefix(bytesMax), ex),
  bytes({ requestBytes, requestPrefix, requestDone, heldRequest }) {
    if (requestBytes !== null) return { bytes: requestBytes, isWhole: true }
    const bytes = requestPrefix ?? NO_BYTES
    return { bytes, isWhole: requestDone && sizeOf(heldRequest) === bytes.length }
  },
  reply: () => null,
  stream(ex) {
    for (const name of DESCRIBES_LENGTH) ex.request.remove(name)
    ex.requestBody = BODY_STREAM
    ex.requestLength = 0
  },
  replace: replaceRequestBody,
  replacePrefix: replaceRequestPrefix,
  trailers: (ex) => ex.requestTrailers,
  setTrailers(ex, lines) {
    ex.requestTrailers = lines
  },
  end(ex, { code, reply }) {
    if (reply === null) return refuse(ex, code ?? 'INTERNAL')
    if (ex.response === null) ex.error = code
    return answer(ex, reply)
  }
}

export const RESPONSE: Side = {
  name: 'response',
  headersCase: 'responseHeaders',
  bodyCase: 'responseBody',
  trailersCase: 'responseTrailers',
  pseudo: RESPONSE_PSEUDO,
  block: (ex) => ex.response!,
  start: ({ status }) => [':status', String(status)],
  hasBody(ex) {
    if (ex.status === 101 || hasNoContent(ex.status, ex.method)) return false
    return ex.localReply === null ? ex.responseBody !== BODY_NONE : replyBytes(ex.localReply).length > 0
  },
  collect: (ex, bytesMax) => responseFault((fail) => collectResponse(bytesMax, fail), ex),
  collectPrefix: (ex, bytesMax) => responseFault((fail) => collectResponsePrefix(bytesMax, fail), ex),
  bytes({ responseBytes, responsePrefix, heldTrailers, heldResponse, localReply }) {
    if (responseBytes !== null) return { bytes: responseBytes, isWhole: true }
    const bytes = responsePrefix ?? NO_BYTES
    if (localReply !== null) return { bytes, isWhole: replyBytes(localReply).length === bytes.length }
    return { bytes, isWhole: heldTrailers !== null && sizeOf(heldResponse) === bytes.length }
  },
  reply: ({ localReply }) => (localReply === null ? null : replyBytes(localReply)),
  stream(ex) {
    for (const name of DESCRIBES_LENGTH) ex.response!.remove(name)
    ex.responseBody = BODY_STREAM
    ex.responseLength = 0
  },
  replace: replaceResponseBody,
  replacePrefix: replaceResponsePrefix,
  trailers: (ex) => ex.heldTrailers ?? '',
  setTrailers(ex, lines) {
    ex.heldTrailers = lines
  },
  end: replaceAnswer
}
