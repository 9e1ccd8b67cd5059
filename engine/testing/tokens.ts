/** Signing keys, tokens made by two independent implementations (jose, openssl), and a server of key sets. */
import { execFileSync } from 'node:child_process'
import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { importJWK, SignJWT } from 'jose'
import { systemProgram } from './system-programs.ts'

export interface SigningKey {
  readonly alg: string
  readonly privateKey: KeyObject
  /** Public part, without kid and alg. */
  readonly jwk: JsonWebKey
}

const CURVES: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

/** A new key for tokens with this `alg`. */
export function signingKey(alg: string): SigningKey {
  const { privateKey, publicKey } = CURVES[alg]
    ? generateKeyPairSync('ec', { namedCurve: CURVES[alg] })
    : alg.startsWith('Ed')
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { alg, privateKey, jwk: publicKey.export({ format: 'jwk' }) }
}

/** A key made by the openssl program. */
export function opensslKey(alg: string): SigningKey {
  const curve = CURVES[alg]
  const options = curve
    ? ['-algorithm', 'EC', '-pkeyopt', `ec_paramgen_curve:${curve}`]
    : alg === 'EdDSA'
      ? ['-algorithm', 'ED25519']
      : ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048']
  const privateKey = createPrivateKey(
    execFileSync(systemProgram('openssl'), ['genpkey', ...options], { stdio: ['pipe', 'pipe', 'ignore'] })
  )
  return { alg, privateKey, jwk: createPublicKey(privateKey).export({ format: 'jwk' }) }
}

/** A key, and further fields of its JWK. */
export type KeyEntry = readonly [key: SigningKey, more?: Readonly<Record<string, unknown>>]

/** JSON text of a set of public keys. */
export function keySet(...keys: readonly KeyEntry[]): string {
  return JSON.stringify({ keys: keys.map(([key, more]) => ({ ...key.jwk, ...more })) })
}

export type Claims = Readonly<Record<string, unknown>>

/** Claims of a token that is valid for an hour. */
export function hour(more: Claims = {}): Claims {
  return { iss: 'https://issuer.example', exp: Math.floor(Date.now() / 1000) + 3600, ...more }
}

/** A token signed by jose. */
export async function token(key: SigningKey, claims: Claims = hour(), header: Claims = {}): Promise<string> {
  const imported = await importJWK(key.privateKey.export({ format: 'jwk' }), key.alg)
  return await new SignJWT(claims).setProtectedHeader({ alg: key.alg, ...header }).sign(imported)
}

export const encode = (value: unknown): string => {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  return bytes.toString('base64url')
}

/** Three parts, joined; what is not a text is written as JSON. */
export function compact(header: unknown, claims: unknown, signature: string | Buffer): string {
  return `${encode(header)}.${encode(claims)}.${encode(signature)}`
}

/** A token signed by the openssl program. `folder`: for its files. */
export function opensslToken(key: SigningKey, folder: string, claims: Claims, header: Claims = {}): string {
  const signed = `${encode({ alg: key.alg, ...header })}.${encode(claims)}`
  return `${signed}.${opensslSign(key, folder, signed).toString('base64url')}`
}

function opensslSign(key: SigningKey, folder: string, signed: string): Buffer {
  const [keyFile, dataFile] = [join(folder, 'key.pem'), join(folder, 'signed')]
  writeFileSync(keyFile, key.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(dataFile, signed)
  if (key.alg === 'EdDSA') {
    return execFileSync(systemProgram('openssl'), ['pkeyutl', '-sign', '-inkey', keyFile, '-rawin', '-in', dataFile])
  }
  const pss = ['-sigopt', 'rsa_padding_mode:pss', '-sigopt', 'rsa_pss_saltlen:digest']
  const padding = key.alg.startsWith('PS') ? pss : []
  const raw = execFileSync(systemProgram('openssl'), [
    'dgst',
    `-sha${key.alg.slice(2)}`,
    '-sign',
    keyFile,
    ...padding,
    dataFile
  ])
  return key.alg.startsWith('ES') ? joinDer(raw, { ES256: 32, ES384: 48, ES512: 66 }[key.alg]!) : raw
}

/** ASN.1 sequence of two numbers -> both at full length (RFC 7518 section 3.4). */
function joinDer(der: Buffer, bytes: number): Buffer {
  let at = der[1]! > 128 ? 3 : 2
  const number = (): Buffer => {
    const length = der[at + 1]!
    const value = der.subarray(at + 2, at + 2 + length)
    at += 2 + length
    const out = Buffer.alloc(bytes)
    const bare = value.subarray(Math.max(0, value.length - bytes))
    bare.copy(out, bytes - bare.length)
    return out
  }
  return Buffer.concat([number(), number()])
}

/** Ends the test's wait for the next request. */
interface Waiting {
  readonly count: number
  readonly resolve: () => void
}

/** A server of one key set, whose answers a test can change while it runs. */
export class KeyServer {
  /** What is sent; a function answers by itself. */
  body: string | ((response: ServerResponse) => void)
  requests = 0
  #waiting: Waiting[] = []
  readonly #server = createServer((_request, response) => {
    this.requests++
    for (const { count, resolve } of this.#waiting) if (count <= this.requests) resolve()
    this.#waiting = this.#waiting.filter(({ count }) => count > this.requests)
    if (typeof this.body === 'string') response.setHeader('content-type', 'application/json').end(this.body)
    else this.body(response)
  })

  constructor(body: string) {
    this.body = body
  }

  /** `port`: 0 for any. */
  async start(port = 0): Promise<this> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/jwks.json`
  }

  /** Resolves when `count` requests have come. */
  until(count: number): Promise<void> {
    if (this.requests >= count) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ count, resolve }))
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
