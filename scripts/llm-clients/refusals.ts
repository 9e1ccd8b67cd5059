/** Refusals of the gateway, for the clients of PyPI (clients/refusals.py); refusals.test.ts has those of npm. */
import { startGateway } from '#engine/testing/gateway.ts'
import { startModels } from '#engine/testing/models.ts'

interface Refusal {
  readonly status: string
  readonly key: string
  readonly model: string
  /** Of the question, in bytes. */
  readonly length: number
}

const KEYS = { all: 'sk-all-000000000000', one: 'sk-one-000000000000', none: 'sk-none-00000000000' } as const
const BODY_BYTES_MAX = 65_536

const of = (status: string, more: Partial<Refusal> = {}): Refusal => ({
  ...{ status, key: KEYS.all, model: 'm', length: 2 },
  ...more
})

export const REFUSALS: Readonly<Record<string, Refusal>> = {
  'a key that is not known': of('401', { key: 'sk-wrong' }),
  'a model that the key may not use': of('403', { key: KEYS.one }),
  'a model that is not there': of('404', { model: 'none' }),
  'a body that is too long': of('413', { length: 2 * BODY_BYTES_MAX }),
  'more than the limit': of('429', { key: KEYS.none }),
  'a provider that is gone': of('502', { model: 'gone' })
}

export async function startRefusals(): Promise<{ readonly base: string; close(): Promise<void> }> {
  const models = await startModels()
  const at = (baseUrl: string) => ({ provider: 'openai', params: { baseUrl, apiKey: 'k' } })
  const gateway = await startGateway(
    JSON.stringify({
      config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'error' } },
      frontendPolicies: { http: { maxBufferSize: BODY_BYTES_MAX } },
      llm: {
        port: 0,
        models: [
          { name: 'm', ...at(`http://127.0.0.1:${models.port}/v1`) },
          { name: 'gone', ...at('http://127.0.0.1:1/v1') }
        ]
      },
      keys: [
        { name: 'all', key: KEYS.all },
        { name: 'one', key: KEYS.one, models: ['gone'] },
        { name: 'none', key: KEYS.none, limits: [{ requests: 1, unit: 'Days' }] }
      ]
    })
  )
  const base = `http://127.0.0.1:${gateway.port}`
  // The limit is used up before any client asks.
  const headers = { authorization: `Bearer ${KEYS.none}`, 'content-type': 'application/json' }
  const messages = [{ role: 'user', content: 'Hi' }]
  await fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'm', messages })
  })
  const close = async (): Promise<void> => {
    await gateway.close()
    models.close()
  }
  return { base, close }
}
