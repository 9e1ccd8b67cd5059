/** A backend, and the configuration of a gateway before it, for tests of the program. */
import { once } from 'node:events'
import { type Agent, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { RunningProgram } from '#engine/testing/program.ts'

export interface Backend {
  readonly port: number
  close(): void
}

export async function startBackend(): Promise<Backend> {
  const server = createServer((_request, response) => {
    response.setHeader('x-backend', 'yes')
    response.end('from the backend')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.closeAllConnections()
      server.close()
    }
  }
}

/** `text` at /version, all else from the backend. `more`: further fields of `config`. */
export function configFor(backendPort: number, port: number, text: string, more = ''): string {
  return `
config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 2, logging: { level: 'info,request=off' }${more} }
binds:
- port: ${port}
  listeners:
  - routes:
    - matches: [{ path: { exact: /version } }]
      policies: { directResponse: { status: 200, body: '${text}' } }
    - backends: [{ host: '127.0.0.1:${backendPort}' }]
`
}

export function fetchText(port: number, path: string, agent?: Agent): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const request = get({ port, host: '127.0.0.1', path, agent }, (response) => {
      let body = ''
      response.on('data', (chunk) => (body += String(chunk)))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
      response.on('error', reject)
    })
    // Whether it went over a connection that had served before.
    request.on('error', (error) => reject(Object.assign(error, { isReused: request.reusedSocket })))
  })
}

export async function started(program: RunningProgram): Promise<RunningProgram> {
  await program.logged('target=start')
  return program
}
