/** Recorded answers beside chat, through a gateway to clients of each format: what they say is compared. */
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '#backends/llm/conversation.ts'
import { type TestGateway as Gateway, startGateway } from '#engine/testing/gateway.ts'
import { type Models, startModels } from '#engine/testing/models.ts'
import { type Ask, type Endpoint, endpointsIn } from './endpoints.ts'
import { objectIn } from './read.ts'
import { nameOf } from './recorded.ts'
import { Tally } from './tally.ts'

export interface EndpointsRun {
  readonly isSame: boolean
  /** Exchanges of a provider that came through to all clients. */
  readonly tally: Tally
}

/** Prints a table, and what differs. */
export async function runEndpoints(print: (line: string) => void, folder: string): Promise<EndpointsRun> {
  const models = await startModels()
  const gateways = new Map<string, Gateway>()
  const passed = new Map<string, number>()
  const tally = new Tally()
  let failed = 0
  try {
    for (const { source, endpoint, asks, answer } of endpointsIn(folder)) {
      const gateway = await gatewayFor(endpoint, models, gateways)
      answerWith(models, answer)
      const before = failed
      for (const ask of asks) {
        const { status, text } = await send(gateway, ask)
        const got = objectIn(text)
        const isSame = status < 300 && got !== null && isDeepStrictEqual(endpoint.says(got), endpoint.says(answer))
        const row = `| ${endpoint.provider} | ${endpoint.name === 'stored' ? 'stored' : ask.path} |`
        if (isSame) passed.set(row, (passed.get(row) ?? 0) + 1)
        else {
          failed++
          print(`${source} to ${ask.path}: ${status} ${text.slice(0, 120)}`)
        }
      }
      if (failed === before) tally.add(nameOf(endpoint.provider), endpoint.name)
    }
  } finally {
    for (const gateway of gateways.values()) await gateway.close()
    models.close()
  }
  if (passed.size > 0) print('| provider | clients ask by | passed |')
  for (const [row, count] of passed) print(`${row} ${count} |`)
  const sum = [...passed.values()].reduce((total, count) => total + count, 0)
  print(`endpoints: ${sum} passed, ${failed} failed`)
  return { isSame: failed === 0, tally }
}

/** One for each provider, so that it has one account: ids then pass as they are (docs/llm-objects.md). */
async function gatewayFor(
  { provider, params }: Endpoint,
  { port }: Models,
  gateways: Map<string, Gateway>
): Promise<Gateway> {
  const known = gateways.get(provider)
  if (known !== undefined) return known
  const base = `http://127.0.0.1:${port}`
  const own = OWN_PATHS.has(provider) ? base : `${base}/v1`
  const model = { name: '*', provider, params: { baseUrl: own, apiKey: 'AIza-k', ...params } }
  const config = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'error' } }
  const gateway = await startGateway(JSON.stringify({ config, llm: { port: 0, models: [model] } }))
  gateways.set(provider, gateway)
  return gateway
}

/** Their addresses have no path. */
const OWN_PATHS: ReadonlySet<string> = new Set(['anthropic', 'azure', 'bedrock', 'cohere', 'gemini', 'vertex'])

function answerWith(models: Models, answer: JsonObject): void {
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    return true
  }
}

async function send({ port }: Gateway, { method, path, headers = {}, body }: Ask) {
  const isForm = body instanceof FormData
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { ...(isForm || body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) })
  })
  return { status: response.status, text: await response.text() }
}
