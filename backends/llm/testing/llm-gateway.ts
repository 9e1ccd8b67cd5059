/** A gateway before providers of models, for the tests of this folder. */
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import type { Body } from '#backends/demo/models/wire.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { type MockRequest, type Models, startModels } from '#engine/testing/models.ts'

export async function provider(t: TestContext): Promise<Models> {
  const started = await startModels()
  t.after(() => started.close())
  return started
}

/** What a provider answers on paths that contain `part`, as JSON; the usual elsewhere. */
export function answers(models: Models, part: string, answer: (request: MockRequest) => object, status = 200): void {
  models.instead = (request, response: ServerResponse) => {
    if (!request.path.includes(part)) return false
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer(request)))
    return true
  }
}

const QUIET = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } }

/** A gateway with the parts of a file that `file` gives. */
export async function gatewayOf(t: TestContext, file: object) {
  const started = await startGateway(JSON.stringify({ config: QUIET, ...file }))
  t.after(() => started.close())
  const base = `http://127.0.0.1:${started.port}`
  const ask = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${base}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) })
    })
  return { ...started, base, ask }
}

/** With one backend for everything. */
export const gateway = (t: TestContext, ai: object) =>
  gatewayOf(t, { binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }] })

/** A provider at `models`. */
export const at = (kind: string, { port }: Models, more: object = {}): object => ({
  [kind]: {},
  host: '127.0.0.1',
  port,
  ...more
})

/** The JSON of an answer; tests look into it. */
export const jsonOf = async (response: Response): Promise<Body> => response.json()
