/**
 * Header fields that belong to one connection (RFC 9110 section 7.6.1), and those that frame a
 * message: found in one pass over the offsets, before anything is forwarded.
 */
import { type HeaderBlock, sameName } from './headers.ts'
import { TRACE_HEADER } from './trace-header.ts'

export interface Framing {
  /** Number of Host fields seen, and the index of the last one. */
  hosts: number
  host: number
  /** Bytes of Content-Length; -1 without one; -2 when it is not a plain decimal number. */
  length: number
  /** Transfer-Encoding is present; `chunked`: it is exactly "chunked", once. */
  coded: boolean
  chunked: boolean
  /** Tokens of Connection. */
  close: boolean
  keepAlive: boolean
  wantsUpgrade: boolean
  /** Index of the Upgrade field, or -1. */
  upgrade: number
  /** Index of the Expect field, or -1. */
  expect: number
  /** Index of the Keep-Alive field, which is dropped, or -1. */
  keepAliveHint: number
  /** TE has "trailers": the sender reads them. */
  trailers: boolean
}

/**
 * Notes what frames the message and drops what belongs to the connection it came from, including
 * fields named by Connection. Content-Length and Expect stay: they pass through. One result object
 * per thread is reused: read it before the next call.
 */
export function takeFraming(block: HeaderBlock): Framing {
  reset(result)
  const { at, text, count } = block
  let connection = false
  for (let i = 0; i < count; i++) {
    const start = at[i * 4]!
    switch (at[i * 4 + 1]! - start) {
      case 2:
        if (sameName(text, start, 'te')) {
          if (TRAILERS.test(block.value(i))) result.trailers = true
          block.drop(i)
        }
        break
      case 4:
        if (sameName(text, start, 'host')) {
          result.hosts++
          result.host = i
        }
        break
      case 6:
        if (sameName(text, start, 'expect')) result.expect = i
        break
      case 7:
        if (sameName(text, start, 'upgrade')) {
          // One field is looked at and sent on; an earlier one must not pass beside it.
          if (result.upgrade >= 0) block.drop(result.upgrade)
          result.upgrade = i
        }
        break
      case 10:
        if (sameName(text, start, 'connection')) {
          connection = true
          noteConnection(block, i)
        } else if (sameName(text, start, 'keep-alive')) {
          result.keepAliveHint = i
          block.drop(i)
        }
        break
      case 12:
        // A token for this gateway (trace-header.ts).
        if (sameName(text, start, TRACE_HEADER)) block.drop(i)
        break
      case 14:
        if (sameName(text, start, 'content-length')) noteLength(block, i)
        else if (sameName(text, start, 'http2-settings')) block.drop(i)
        break
      case 16:
        if (sameName(text, start, 'proxy-connection')) block.drop(i)
        break
      case 17:
        if (sameName(text, start, 'transfer-encoding')) noteCoding(block, i)
        break
      case 18:
        if (sameName(text, start, 'proxy-authenticate')) block.drop(i)
        break
      case 19:
        // Meant for this hop; an upstream has no business with it.
        if (sameName(text, start, 'proxy-authorization')) block.drop(i)
        break
    }
  }
  if (connection) dropNamed(block)
  return result
}

const result: Framing = {
  hosts: 0,
  host: -1,
  length: -1,
  coded: false,
  chunked: false,
  close: false,
  keepAlive: false,
  wantsUpgrade: false,
  upgrade: -1,
  expect: -1,
  keepAliveHint: -1,
  trailers: false
}

/** RFC 9110 section 10.1.4. */
const TRAILERS = /(?:^|,)[ \t]*trailers[ \t]*(?:,|$)/i

/** Further tokens of Connection: names of fields that end here. */
const named: string[] = []

function reset(framing: Framing): void {
  framing.hosts = 0
  framing.host = -1
  framing.length = -1
  framing.coded = false
  framing.chunked = false
  framing.close = false
  framing.keepAlive = false
  framing.wantsUpgrade = false
  framing.upgrade = -1
  framing.expect = -1
  framing.keepAliveHint = -1
  framing.trailers = false
  if (named.length > 0) named.length = 0
}

function noteLength(block: HeaderBlock, i: number): void {
  // llhttp has refused repetition.
  result.length = contentLength(block.value(i))
}

/** Bytes that a Content-Length of `value` means; -2: it is no plain decimal number, or cannot be counted exactly. */
export function contentLength(value: string): number {
  let length = value.length >= 1 && value.length <= 16 ? 0 : -2
  for (let k = 0; k < value.length && length >= 0; k++) {
    const digit = value.charCodeAt(k) - 48
    length = digit >= 0 && digit <= 9 ? length * 10 + digit : -2
  }
  return Number.isSafeInteger(length) ? length : -2
}

function noteCoding(block: HeaderBlock, i: number): void {
  result.chunked = !result.coded && block.value(i).toLowerCase() === 'chunked'
  result.coded = true
  block.drop(i)
}

function noteConnection(block: HeaderBlock, i: number): void {
  const value = block.value(i)
  block.drop(i)
  // The two usual values, without splitting.
  if (value === 'keep-alive') result.keepAlive = true
  else if (value === 'close') result.close = true
  else {
    for (const part of value.toLowerCase().split(',')) {
      const token = part.trim()
      if (token === 'close') result.close = true
      else if (token === 'keep-alive') result.keepAlive = true
      else if (token === 'upgrade') result.wantsUpgrade = true
      else if (token !== '') named.push(token)
    }
  }
}

function dropNamed(block: HeaderBlock): void {
  for (const name of named) {
    // A client must not be able to strip what frames or addresses its own message.
    if (name === 'host' || name === 'content-length' || name === 'transfer-encoding') continue
    for (let i = block.find(name, 0); i >= 0; i = block.find(name, i + 1)) block.drop(i)
  }
}
