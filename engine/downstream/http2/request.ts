/** From the fields of a header block to an exchange, or to the reason why there is none. RFC 9113 section 8.3. */
import { randomBytes } from 'node:crypto'
import type { ErrorCode } from '#engine/contract/errors.ts'
import {
  BODY_LENGTH,
  BODY_NONE,
  BODY_STREAM,
  type BodyKind,
  type ClientStream,
  Exchange
} from '#engine/contract/exchange.ts'
import { readExpect } from '#engine/downstream/http1/request.ts'
import { contentLength } from '#engine/http/fields.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { isMethod } from '#engine/http/method.ts'
import { isAuthority, parseTarget, type Target } from '#engine/http/target.ts'
import { TRACE_HEADER } from '#engine/http/trace-header.ts'
import {
  AUTHORITY,
  CONTENT_LENGTH,
  COOKIE,
  EXPECT,
  type Field,
  HOP,
  HOST,
  METHOD,
  ORDINARY,
  PATH,
  PROTOCOL,
  PSEUDO_END,
  SCHEME,
  TE,
  TRACE_TOKEN
} from '#engine/http2/field.ts'
import type { FieldSink } from '#engine/http2/hpack-decoder.ts'
import { turnStartedAt } from '#engine/socket/round.ts'

/** Counted for every field beside its name and value: what a line of HTTP/1 has more, ": " and its end. */
const LINE_OVERHEAD = 4

/** What is allowed of a head: the settings of the frontend. */
export interface HeadLimits {
  readonly headersMax: number
  readonly headBytesMax: number
  readonly uriBytesMax: number
  /** 0: no limit. */
  readonly bodyBytesMax: number
}

/** What keeps a request from being one, and how much its stream is to blame. */
export interface Refusal {
  readonly code: ErrorCode
  /** It breaks the rules of HTTP/2: the stream ends with PROTOCOL_ERROR (section 8.1.1). */
  readonly isMalformed: boolean
}

/** Visible ASCII without "#": what the parser of HTTP/1 takes for a target. */
const PATH_TEXT = /^[!"$-~]+$/

/** Takes the fields of one request head. One object serves a whole thread: a block is decoded in one go. */
export class RequestHead implements FieldSink {
  block = new HeaderBlock()
  #limits: HeadLimits
  #pseudo: (string | null)[] = []
  #host: string | null = null
  #cookie: string | null = null
  #length = -1
  #expect = -1
  #wantsTrailers = false
  #isMalformed = false
  #isOrdinarySeen = false
  #bytes = 0
  #isTooLarge = false

  constructor() {
    this.#limits = { headersMax: 0, headBytesMax: 0, uriBytesMax: 0, bodyBytesMax: 0 }
  }

  begin(limits: HeadLimits): void {
    this.#limits = limits
    // Exchanges keep their blocks.
    this.block = new HeaderBlock()
    this.#pseudo = [null, null, null, null, null, null]
    this.#host = null
    this.#cookie = null
    this.#length = -1
    this.#expect = -1
    this.#wantsTrailers = false
    this.#isMalformed = false
    this.#isOrdinarySeen = false
    this.#bytes = 0
    this.#isTooLarge = false
  }

  field(field: Field): void {
    const { name, value, kind } = field
    this.#bytes += name.length + value.length + LINE_OVERHEAD
    if (this.#bytes > this.#limits.headBytesMax) this.#isTooLarge = true
    // Decoding goes on to the end of the block, or the next one could not be read. Keeping it does not.
    if (this.#isTooLarge) return
    if (kind < PSEUDO_END) this.#takePseudo(kind, value)
    else {
      this.#isOrdinarySeen = true
      if (kind === ORDINARY) this.#keep(name, value)
      else this.#takeSpecial(kind, value)
    }
  }

  #takePseudo(kind: number, value: string): void {
    // Each one once, before all others (section 8.3); those of responses and unknown ones never.
    const isKnown = kind <= AUTHORITY || kind === PROTOCOL
    if (!isKnown || this.#isOrdinarySeen || this.#pseudo[kind] !== null) this.#isMalformed = true
    else this.#pseudo[kind] = value
  }

  #takeSpecial(kind: number, value: string): void {
    if (kind === COOKIE) {
      // Crumbs of one field (section 8.2.3).
      this.#cookie = this.#cookie === null ? value : `${this.#cookie}; ${value}`
    } else if (kind === HOST) {
      if (this.#host !== null) this.#isMalformed = true
      this.#host = value
    } else if (kind === CONTENT_LENGTH) {
      if (this.#length !== -1) this.#isMalformed = true
      this.#length = contentLength(value)
      this.#keep('content-length', value)
    } else if (kind === EXPECT) {
      this.#expect = this.block.count
      this.#keep('expect', value)
    } else if (kind === TRACE_TOKEN) this.#keepDropped(TRACE_HEADER, value)
    else if (kind === TE && value.toLowerCase() === 'trailers') this.#wantsTrailers = true
    else if (kind !== HOP) this.#isMalformed = true
  }

  #keep(name: string, value: string): void {
    if (this.block.count >= this.#limits.headersMax) this.#isTooLarge = true
    else this.block.receive(name, value)
  }

  /** As framing leaves it in a head of HTTP/1: not forwarded, and there for the gateway. */
  #keepDropped(name: string, value: string): void {
    const { count } = this.block
    this.#keep(name, value)
    if (this.block.count > count) this.block.drop(count)
  }

  /** Makes the exchange. `endStream`: nothing follows the head. */
  finish(client: ClientStream, endStream: boolean): Exchange | Refusal {
    if (this.#isTooLarge) return refuse('HEADERS_TOO_LARGE')
    if (this.#isMalformed) return MALFORMED
    const protocol = this.#pseudo[PROTOCOL]!
    const method = this.#pseudo[METHOD]!
    if (method === null || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(method)) return MALFORMED
    if (protocol !== null && method !== 'CONNECT') return MALFORMED
    if (protocol === null && method === 'CONNECT') return this.#refuseConnect()
    const target = this.#target(method)
    if ('code' in target) return target
    const authority = this.#authority()
    if (typeof authority !== 'string') return authority
    if (this.#cookie !== null) this.#keep('cookie', this.#cookie)
    if (this.#isTooLarge) return refuse('HEADERS_TOO_LARGE')
    if (protocol !== null) return this.#tunnel(client, target, authority, protocol)
    if (!isMethod(method)) return refuse('METHOD_UNKNOWN')
    return this.#exchange(client, method, target, authority, endStream)
  }

  /** CONNECT has neither scheme nor path (section 8.5). */
  #refuseConnect(): Refusal {
    const hasOthers = this.#pseudo[SCHEME] !== null || this.#pseudo[PATH] !== null
    return hasOthers || this.#pseudo[AUTHORITY] === null ? MALFORMED : refuse('CONNECT_REFUSED')
  }

  #target(method: string): Target | Refusal {
    const scheme = this.#pseudo[SCHEME]!
    const path = this.#pseudo[PATH]!
    if (scheme === null || path === null || path === '') return MALFORMED
    if (path.length > this.#limits.uriBytesMax) return refuse('URI_TOO_LONG')
    if (!/^https?$/i.test(scheme)) return refuse('BAD_TARGET')
    if (!PATH_TEXT.test(path)) return refuse('BAD_REQUEST')
    // The absolute form belongs to HTTP/1 (section 8.3.1).
    const target = path.startsWith('/') || path === '*' ? parseTarget(path, method) : null
    return target ?? refuse('BAD_TARGET')
  }

  #authority(): string | Refusal {
    const authority = this.#pseudo[AUTHORITY]?.toLowerCase()
    const host = this.#host?.toLowerCase()
    const named = authority ?? host ?? ''
    if (!isAuthority(named)) return refuse('BAD_HOST')
    return host !== undefined && host !== named ? { code: 'BAD_HOST', isMalformed: true } : named
  }

  #exchange(
    client: ClientStream,
    method: string,
    target: Target,
    authority: string,
    endStream: boolean
  ): Exchange | Refusal {
    const length = this.#length
    const { bodyBytesMax } = this.#limits
    if (length === -2 || (endStream && length > 0)) return { code: 'BAD_FRAMING', isMalformed: true }
    if (bodyBytesMax > 0 && length > bodyBytesMax) return refuse('BODY_TOO_LARGE')
    const kind: BodyKind = endStream || length === 0 ? BODY_NONE : length > 0 ? BODY_LENGTH : BODY_STREAM
    const { path, query } = target
    const bytes = Math.max(length, 0)
    const ex = new Exchange(client, method, path, query, authority, this.block, kind, bytes, turnStartedAt)
    ex.wantsTrailers = this.#wantsTrailers
    if (this.#expect >= 0 && !readExpect(ex, this.#expect, kind, 1)) return refuse('EXPECTATION_FAILED')
    return ex
  }

  /** Extended CONNECT (RFC 8441): for backends, and for policies, the upgrade that it is in HTTP/1.1. */
  #tunnel(client: ClientStream, target: Target, authority: string, protocol: string): Exchange | Refusal {
    if (protocol !== 'websocket' || this.#length !== -1 || this.#expect >= 0) return refuse('BAD_REQUEST')
    const { path, query } = target
    const { block } = this
    // Sec-WebSocket-Key and -Accept are not used in HTTP/2 (section 5): a server of HTTP/1.1 wants the one.
    block.remove('sec-websocket-key')
    block.receive('sec-websocket-key', randomBytes(16).toString('base64'))
    const ex = new Exchange(client, 'GET', path, query, authority, block, BODY_NONE, 0, turnStartedAt)
    ex.upgrade = 'websocket'
    return ex
  }
}

const MALFORMED: Refusal = { code: 'BAD_REQUEST', isMalformed: true }

function refuse(code: ErrorCode): Refusal {
  return { code, isMalformed: false }
}

/** Takes the fields of trailers. */
export class TrailerFields implements FieldSink {
  lines = ''
  isMalformed = false
  #bytes = 0
  #bytesMax = 0

  begin(bytesMax: number): void {
    this.lines = ''
    this.isMalformed = false
    this.#bytes = 0
    this.#bytesMax = bytesMax
  }

  field({ name, value, kind }: Field): void {
    this.#bytes += name.length + value.length + LINE_OVERHEAD
    if (this.#bytes > this.#bytesMax || kind < PSEUDO_END || kind > TE) this.isMalformed = true
    else if (kind === ORDINARY) this.lines += `${name}: ${value}\r\n`
  }
}

/** For header blocks of unwanted streams: they must be decoded to keep the table of HPACK right. */
export const NO_FIELDS: FieldSink = { field() {} }
