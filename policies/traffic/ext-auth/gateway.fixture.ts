/** A gateway whose route asks an authorization service, and the backend behind it, for the tests of one file. */
import { after, before, beforeEach } from 'node:test'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { startHttpServer } from './services.fixture.ts'

export type HttpServer = Awaited<ReturnType<typeof startHttpServer>>

export const gatewayTo = (backend: number, policies: string, backends = ''): Promise<TestGateway> =>
  startGateway(`
${backends}
binds:
  - port: 0
    listeners:
      - routes:
          - policies: ${policies}
            backends: [{ host: "127.0.0.1:${backend}" }]
`)

export const send = (gateway: TestGateway, lines: string, body = ''): Promise<string> =>
  exchangeRaw(gateway.port, `${lines}\r\nHost: a.test\r\nConnection: close\r\n\r\n${body}`)

export const statusOf = (answer: string): number => Number(answer.slice(9, 12))

/** The backend of the tests of the file that calls it. */
export function useBackend(): Pick<HttpServer, 'port' | 'requests'> {
  let server: HttpServer
  before(async () => {
    server = await startHttpServer(() => ({ status: 200, body: 'in', headers: { 'x-from': 'backend' } }))
  })
  beforeEach(() => {
    server.requests.length = 0
  })
  after(() => server.close())
  return {
    get port() {
      return server.port
    },
    get requests() {
      return server.requests
    }
  }
}
