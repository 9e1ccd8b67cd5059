/**
 * fetch() for a process whose configuration others write than its operator. Every address is checked when it is
 * dialled, after resolution, so that no name and no second answer of DNS gets around the guard. Redirects are not
 * followed. The client is Node's own: that of fetch() takes no function for names.
 */
import { lookup as resolveName } from 'node:dns'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { Readable } from 'node:stream'
import { hostnameOf } from '#engine/http/authority.ts'

/** Whether a connection to an address literal and a port may be made. */
export type MayDial = (ip: string, port: number) => boolean

/** What is sent: fetchText has no more. */
export type GuardedRequest = Pick<RequestInit, 'headers' | 'method' | 'body' | 'signal'>

/** Code of an error for an address that may not be dialled. */
const REFUSED = 'ADDRESS_REFUSED'
/** Their answers have no content (RFC 9110 section 15), and a Response takes none for them. */
const EMPTY: readonly number[] = [204, 205, 304]

/** Rejects as fetch() does: a TypeError with the reason as its cause. */
export async function guardedFetch(url: string, request: GuardedRequest, mayDial: MayDial): Promise<Response> {
  try {
    const answer = await answerTo(new URL(url), request, mayDial)
    const { statusCode: status = 502 } = answer
    if (!EMPTY.includes(status)) return new Response(Readable.toWeb(answer) as ReadableStream, { status })
    answer.resume()
    return new Response(null, { status })
  } catch (error) {
    throw new TypeError('fetch failed', { cause: error })
  }
}

function answerTo(
  url: URL,
  { method = 'GET', headers, body, signal }: GuardedRequest,
  mayDial: MayDial
): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:'
  const port = Number(url.port || (isSecure ? 443 : 80))
  const literal = hostnameOf(url)
  // A literal address is not looked up.
  if (isIP(literal) !== 0 && !mayDial(literal, port)) throw refusal()
  const options = {
    method,
    headers: { ...Object.fromEntries(new Headers(headers)), 'accept-encoding': 'identity' },
    lookup: lookupFor((ip) => mayDial(ip, port)),
    // Connections are not kept: each is checked.
    agent: false as const,
    ...(signal == null ? {} : { signal })
  }
  return new Promise((resolve, reject) => {
    const sent = (isSecure ? requestHttps : requestHttp)(url, options, resolve).on('error', reject)
    sent.end(body ?? undefined)
  })
}

/** One refused address of a name is enough: taking the others would make the guard a lottery. */
function lookupFor(isAllowed: (ip: string) => boolean): LookupFunction {
  return (host, options, callback) => {
    resolveName(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) callback(error, '', 0)
      else if (addresses.every(({ address }) => isAllowed(address))) callback(null, addresses)
      else callback(refusal(), '', 0)
    })
  }
}

const refusal = (): NodeJS.ErrnoException =>
  Object.assign(new Error('backends of this process may not have this address'), { code: REFUSED })
