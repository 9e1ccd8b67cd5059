/** An exchange whose client is a dummy, for tests of what happens between transports. */
import { BODY_NONE, type ClientStream, Exchange } from '#engine/contract/exchange.ts'
import { HeaderBlock } from '#engine/http/headers.ts'

export interface ExchangeOptions {
  readonly method?: string
  /** Path with or without query; "/" when left out. */
  readonly target?: string
  readonly authority?: string
  readonly headers?: readonly (readonly [name: string, value: string])[]
  /** Port that the client connected to; 80 when left out. */
  readonly port?: number
}

/** A request without body, as a transport would hand it to the lifecycle. */
export function fakeExchange(options: ExchangeOptions = {}): Exchange {
  const { method = 'GET', target = '/', authority = 'example.com', headers = [], port = 80 } = options
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const query = mark < 0 ? '' : target.slice(mark)
  const block = new HeaderBlock()
  for (const [name, value] of headers) block.receive(name, value)
  return new Exchange(fakeClient(port), method, path, query, authority, block, BODY_NONE, 0, 0)
}

function fakeClient(localPort: number): ClientStream {
  const untouched = (): never => {
    throw new Error('this test has no client connection')
  }
  return {
    remoteAddress: '192.0.2.1',
    remotePort: 50000,
    localPort,
    httpVersion: '1.1',
    sendInterim: untouched,
    sendHead: untouched,
    sendBody: untouched,
    sendEnd: untouched,
    abort: untouched,
    pauseBody: untouched,
    resumeBody: untouched,
    splice: untouched
  }
}
