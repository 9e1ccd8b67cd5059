/** What tests of LLM backends share: a gateway with one `ai` backend, mocks of its providers, and credentials. */
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { type AwsKeys, refuseAs, signatureProblem } from '#engine/testing/aws.ts'
import { startGateway, type TestOptions } from '#engine/testing/gateway.ts'
import { type MockRequest, type Models, startModels } from '#engine/testing/models.ts'

export const KEYS: AwsKeys = {
  accessKeyId: 'AKIAEXAMPLE',
  secretAccessKey: 'canary-of-aws',
  sessionToken: 'canary-session'
}
export const ASK = { model: 'anthropic.claude-v1:0', messages: [{ role: 'user', content: 'Hi' }] }
export const CHAT = '/v1/chat/completions'

export async function models(t: TestContext): Promise<Models> {
  const started = await startModels()
  t.after(() => started.close())
  return started
}

export const fileOf = (ai: object, policies: object = {}) =>
  JSON.stringify({
    config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
    binds: [{ port: 0, listeners: [{ routes: [{ policies, backends: [{ ai }] }] }] }]
  })

export async function gateway(t: TestContext, ai: object, policies: object = {}, options: TestOptions = {}) {
  const started = await startGateway(fileOf(ai, policies), options)
  t.after(() => started.close())
  const ask = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${started.port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body)
    })
  return { ...started, ask }
}

/** From here on the mock takes only what is signed with `keys` for eu-west-1; tells why it refused. */
export function checkSignatures(
  mock: Models,
  keys: AwsKeys,
  answer: (request: MockRequest, response: ServerResponse) => void,
  service = 'bedrock'
) {
  const problems: string[] = []
  mock.instead = (request, response) => {
    void signatureProblem(request, keys, 'eu-west-1', service).then((problem) => {
      if (problem === null) return answer(request, response)
      problems.push(problem)
      refuseAs(response, 'InvalidSignatureException', 'The request signature does not match')
    })
    return true
  }
  return problems
}

export const there = ({ port }: Models) => ({ host: '127.0.0.1', port })
export const aws = ({ accessKeyId, secretAccessKey, sessionToken }: AwsKeys) => ({
  auth: { aws: { accessKeyId, secretAccessKey, sessionToken } }
})

/** Vertex AI at `mock`, with tokens from a server of this test. */
/** Sets variables of the process until the end of the test. */
export function environment(t: TestContext, variables: Record<string, string>): void {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name]
    process.env[name] = value
    t.after(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
}
