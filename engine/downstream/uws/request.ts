/** A request of uWebSockets.js, copied while it lives: it dies with the callback that brings it. */
import type { ErrorCode } from '#engine/contract/errors.ts'
import { BODY_LENGTH, BODY_NONE, BODY_STREAM, type ClientStream, Exchange } from '#engine/contract/exchange.ts'
import { takeFraming } from '#engine/http/fields.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { isMethod } from '#engine/http/method.ts'
import { isAuthority, parseTarget } from '#engine/http/target.ts'
import type { FrontendSettings } from '#engine/ir/snapshot.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import type { HttpRequest } from './library.ts'

/** Bytes of a request line and of the head's end beside method, target and header lines. */
const LINE_BYTES = ' '.length + ' HTTP/1.1\r\n'.length + '\r\n'.length

/** The stream that the request belongs to. */
export interface RequestOwner extends ClientStream {
  /** The client wants the connection closed after the response. */
  wantsClose: boolean
}

/**
 * The exchange of `req`, or why there is none. `upgradable`: the request came through the library's
 * WebSocket handler, so that the connection can become one.
 */
export function readRequest(
  client: RequestOwner,
  req: HttpRequest,
  settings: FrontendSettings['http'],
  upgradable: boolean
): Exchange | ErrorCode {
  const block = new HeaderBlock()
  const path = req.getUrl()
  const query: string | undefined = req.getQuery()
  copyHeaders(req, block)
  const target = query === undefined ? path : `${path}?${query}`
  return read(client, req.getCaseSensitiveMethod(), target, block, settings, upgradable)
}

let filling = new HeaderBlock()
let lengths = 0

function copyHeaders(req: HttpRequest, block: HeaderBlock): void {
  filling = block
  lengths = 0
  req.forEach(copyHeader)
}

function copyHeader(name: string, value: string): void {
  filling.receive(name, value)
  if (name === 'content-length') lengths++
}

/** The same rules as in http1/request.ts, where they are explained. */
function read(
  client: RequestOwner,
  method: string,
  target: string,
  block: HeaderBlock,
  settings: FrontendSettings['http'],
  upgradable: boolean
): Exchange | ErrorCode {
  if (!isMethod(method)) return 'METHOD_UNKNOWN'
  if (method === 'CONNECT') return 'CONNECT_REFUSED'
  if (target.length > settings.uriBytesMax) return 'URI_TOO_LONG'
  if (block.count > settings.headersMax) return 'HEADERS_TOO_LARGE'
  if (!toLatin1(block) || !/^[\x21-\x7e]+$/.test(target)) return 'BAD_REQUEST'
  if (method.length + target.length + block.text.length + LINE_BYTES > settings.headBytesMax) return 'HEADERS_TOO_LARGE'
  const framing = takeFraming(block)
  client.wantsClose = framing.close
  if (framing.hosts !== 1) return 'BAD_HOST'
  const parsed = parseTarget(target, method)
  if (parsed === null) return 'BAD_TARGET'
  const host = block.value(framing.host).toLowerCase()
  if (host !== '' && !isAuthority(host)) return 'BAD_HOST'
  block.drop(framing.host)
  // The library believes the first of several lengths, and any coding to be "chunked".
  if (lengths > 1 || framing.length === -2 || (framing.coded && lengths > 0)) return 'BAD_FRAMING'
  if (framing.coded && !framing.chunked) return 'CODING_UNKNOWN'
  const { bodyBytesMax } = settings
  if (bodyBytesMax > 0 && framing.length > bodyBytesMax) return 'BODY_TOO_LARGE'
  if (framing.expect >= 0) {
    if (block.getAll('expect')?.toLowerCase() !== '100-continue') return 'EXPECTATION_FAILED'
    // The library has sent 100 Continue: the upstream need not.
    block.remove('expect')
  }
  const wantsWebSocket = framing.wantsUpgrade && block.getAll('upgrade')?.toLowerCase() === 'websocket'
  block.remove('upgrade')
  const length = Math.max(framing.length, 0)
  const kind = framing.chunked ? BODY_STREAM : length > 0 ? BODY_LENGTH : BODY_NONE
  const { path, query, authority } = parsed
  const ex = new Exchange(client, method, path, query, authority ?? host, block, kind, length, turnStartedAt)
  if (upgradable && wantsWebSocket && kind === BODY_NONE) {
    ex.upgrade = 'websocket'
    // Both sides frame for themselves here: nothing may be agreed on that changes frames.
    block.remove('sec-websocket-extensions')
  }
  return ex
}

function isAscii(text: string): boolean {
  return /^[\x00-\x7f]*$/.test(text)
}

/**
 * The library decodes header values as UTF-8; the block holds bytes as latin1. False: the value was not
 * UTF-8, and what it was is lost.
 */
function toLatin1(block: HeaderBlock): boolean {
  if (isAscii(block.text)) return true
  const fields: string[] = []
  for (let i = 0; i < block.count; i++) fields.push(block.name(i), Buffer.from(block.value(i)).latin1Slice())
  const isWhole = !block.text.includes('\ufffd')
  block.reset()
  for (let i = 0; i < fields.length; i += 2) block.receive(fields[i]!, fields[i + 1]!)
  return isWhole
}
