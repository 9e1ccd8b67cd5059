/**
 * A server that prints what it gets, a line for each request, and answers with that line; at paths of models it
 * answers as they do. Signatures of AWS are judged by AWS's own signer.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { signatureProblem } from '#engine/testing/aws.ts'
import { answer } from '#engine/testing/models.ts'
import { CLOUD_KEYS } from './keys.ts'
import { PLAYER_PORT } from './relay.ts'

/** What every client sends. */
const LEFT_OUT = new Set(['accept', 'connection', 'content-length', 'content-type', 'user-agent'])
const OF_MODELS = /\/chat\/completions|\/v1\/messages|\/models|\/model\/|:generateContent/

export async function playEcho(): Promise<void> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const bytes = Buffer.concat(chunks)
    const { url: path = '', headers } = request
    const line = await lineOf(request, bytes)
    console.log(OF_MODELS.test(path) ? `${line} | ${bytes.toString()}` : line)
    // Who waits for an answer waits.
    if (path.startsWith('/silent')) return
    if (OF_MODELS.test(path)) answer({ path, headers, bytes, body: JSON.parse(bytes.toString() || '{}') }, response)
    else response.end(`${line}\n`)
  })
  server.listen(PLAYER_PORT)
  await once(server, 'listening')
}

async function lineOf(request: IncomingMessage, bytes: Buffer): Promise<string> {
  const { method = '', url = '', headers } = request
  const shown = Object.entries(headers).filter(([name]) => !LEFT_OUT.has(name))
  const fields = shown.map(([name, value]) => `${name}: ${tokenOf(String(value))}`)
  return [`${method} ${url}`, ...fields, ...(await signatureOf(request, bytes))].join(' | ')
}

async function signatureOf({ method = '', url = '', headers }: IncomingMessage, bytes: Buffer): Promise<string[]> {
  const scope = /^AWS4-HMAC-SHA256 Credential=[^/]+\/\d+\/([^/]+)\/([^/]+)\//.exec(headers.authorization ?? '')
  if (scope === null) return []
  const [, region = '', service = ''] = scope
  const sessionToken = headers['x-amz-security-token']
  const keys = typeof sessionToken === 'string' ? { ...CLOUD_KEYS, sessionToken } : CLOUD_KEYS
  const problem = await signatureProblem({ method, path: url, headers, bytes }, keys, region, service)
  return [`signature: ${problem ?? 'as AWS makes it'}`]
}

/** Tokens of Google are long: what they are for is shown instead. */
function tokenOf(value: string): string {
  const [, payload] = /^Bearer [\w-]+\.([\w-]+)\.[\w-]*$/.exec(value) ?? []
  if (payload === undefined) return value
  const { aud } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { readonly aud?: string }
  return `Bearer, an id token for ${aud}`
}
