/** An exchange as RECORD sees one, for the tests and the benchmark of telemetry. */
import { BODY_NONE, type ClientStream, Exchange } from '#engine/contract/exchange.ts'
import { HeaderBlock } from '#engine/http/headers.ts'

export interface FinishedExchange {
  readonly method?: string
  readonly path?: string
  readonly query?: string
  readonly authority?: string
  readonly remoteAddress?: string
}

/** A GET that backend "web" answered with 200 over its first attempt. */
export function finishedExchange(facts: FinishedExchange = {}): Exchange {
  const ex = new Exchange(
    client(facts.remoteAddress ?? '192.0.2.7'),
    facts.method ?? 'GET',
    facts.path ?? '/index.html',
    facts.query ?? '',
    facts.authority ?? 'example.com',
    new HeaderBlock(),
    BODY_NONE,
    0,
    performance.now()
  )
  ex.status = 200
  ex.backend = 'web'
  ex.endpoint = '10.0.0.1:8080'
  ex.attempts = 1
  ex.bytesReceived = 80
  ex.bytesSent = 1200
  ex.firstByteAt = ex.startedAt
  return ex
}

/** A client of which only the facts are read; it is an error to send to it. */
function client(remoteAddress: string): ClientStream {
  const over = () => {
    throw new Error('the exchange is over')
  }
  return {
    remoteAddress,
    remotePort: 40000,
    localPort: 8080,
    httpVersion: '1.1',
    sendInterim: over,
    sendHead: over,
    sendBody: over,
    sendEnd: over,
    abort: over,
    pauseBody: over,
    resumeBody: over,
    splice: over
  }
}
