/** Whether a request is signed as AWS wants it: by AWS's own signer, from nothing but what arrived. */
import { createHash, createHmac } from 'node:crypto'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { SignatureV4 } from '@smithy/signature-v4'

export interface AwsKeys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

type Data = string | ArrayBuffer | ArrayBufferView
const bytesOf = (data: Data): Buffer => {
  if (typeof data === 'string') return Buffer.from(data)
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data)
}

/** Node's hashes behind the interface that the signer wants. */
export class Sha256 {
  readonly #hash
  constructor(secret?: Data) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret))
  }
  update(data: Data): void {
    this.#hash.update(bytesOf(data))
  }
  digest(): Promise<Uint8Array> {
    return Promise.resolve(new Uint8Array(this.#hash.digest()))
  }
  reset(): void {
    throw new Error('not needed')
  }
}

/** What a body is called that a signature does not cover. */
const UNSIGNED = 'UNSIGNED-PAYLOAD'

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/

/** A request as it has come. */
export interface SignedRequest {
  /** Default POST. */
  readonly method?: string
  /** With its query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** Null when `request` is signed with `keys` for a region and service; else why it is refused. */
export async function signatureProblem(request: SignedRequest, keys: AwsKeys, region: string, service: string) {
  const { headers, method = 'POST', path, bytes } = request
  const [, id, day, itsRegion, itsService, names, signature] = AUTHORIZATION.exec(headers.authorization ?? '') ?? []
  if (id === undefined) return `there is no signature: ${headers.authorization}`
  if (id !== keys.accessKeyId || itsRegion !== region || itsService !== service) return 'it is of somebody else'
  if (headers['x-amz-security-token'] !== keys.sessionToken) return 'the session token is another'
  const date = String(headers['x-amz-date'])
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!date.startsWith(day!) || Math.abs(Date.now() - at) > 300_000) return 'its time is not now'
  const signed = names!.split(';')
  if (!signed.includes('host')) return 'host is not signed'
  for (const name of Object.keys(headers)) {
    const isNeeded = name === 'content-type' || name.startsWith('x-amz-')
    if (isNeeded && !signed.includes(name)) return `${name} is not signed`
  }
  // The signer takes the word of this field for the hash of the body.
  const hash = headers['x-amz-content-sha256'] ?? UNSIGNED
  if (hash !== UNSIGNED && hash !== createHash('sha256').update(bytes).digest('hex')) return 'the body is another'
  const [target = '', query = ''] = path.split('?')
  const uriEscapePath = service !== 's3'
  const sha256 = Sha256
  const signer = new SignatureV4({ service, region, sha256, uriEscapePath, applyChecksum: false, credentials: keys })
  const kept = signed.filter((name) => name !== 'x-amz-date' && name !== 'x-amz-security-token')
  const again = await signer.sign(
    {
      ...{ method, protocol: 'https:', hostname: '', path: target, body: bytes },
      query: parametersOf(query),
      headers: Object.fromEntries(kept.map((name) => [name, String(headers[name])]))
    },
    { signingDate: new Date(at) }
  )
  return again.headers.authorization?.endsWith(`Signature=${signature}`) ? null : 'the signature does not fit'
}

function parametersOf(query: string): Record<string, string[]> {
  const parameters: Record<string, string[]> = {}
  for (const part of query.split('&').filter((one) => one !== '')) {
    const [name = '', value = ''] = part.split('=').map(decodeURIComponent)
    parameters[name] = [...(parameters[name] ?? []), value]
  }
  return parameters
}

/** As Bedrock refuses (API reference, "Common errors"). */
export function refuseAs(response: ServerResponse, type: string, message: string): void {
  response.writeHead(403, { 'content-type': 'application/json', 'x-amzn-errortype': type })
  response.end(JSON.stringify({ message }))
}
