/**
 * The certificate by which this process is known in a mesh: asked for at the start, renewed after half of its life, and
 * followed by nothing when it expires. Its key is never written anywhere.
 */
import { X509Certificate } from 'node:crypto'
import type { MeshCredentials } from '#engine/contract/endpoint.ts'
import type { Time } from '#engine/contract/time.ts'
import { secret } from '#engine/kit/secret.ts'
import { Backoff } from '#engine/kubernetes/client/backoff.ts'
import { contextOf } from '#engine/socket/tls-context.ts'
import { urisOf } from '#engine/socket/tls-verify.ts'
import { type CertificateRequest, certificateRequest } from './certificate-request.ts'

/** How often the roots are looked at: kubelets take a minute to bring a ConfigMap that has changed. */
const LOOK_MS = 30_000
/** Of what is left of its life when it comes. Many data planes that start together do not come again together. */
const RENEW_AFTER = 0.5
const JITTER = 0.1
/** With less than this share of its life left, a failure is logged again. */
const ENDING = 0.25

export interface WorkloadCertificateOptions {
  readonly trustDomain: string
  /** "ns/demo/sa/edge". */
  readonly identity: string
  /** PEM: the roots of the mesh, read anew each time. Throws an Error that says what is missing. */
  readonly roots: () => string
  /** The certificate that `request` asks for, with its chain and its root, of an authority that `roots` vouch for. */
  readonly sign: (request: string, roots: string) => Promise<readonly string[]>
  /** For connections from now on. */
  readonly onCredentials: (credentials: MeshCredentials) => void
  readonly time: Time
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void
}

interface Held {
  /** PEM. */
  readonly cert: string
  readonly key: string
  /** Of the answer; '' when it had none. */
  readonly root: string
  /** Milliseconds of the wall clock. */
  readonly takenAt: number
  readonly expiresAt: number
}

export class WorkloadCertificate {
  readonly #options: WorkloadCertificateOptions
  readonly #backoff: Backoff
  readonly #settled = Promise.withResolvers<void>()
  #held: Held | null = null
  /** What of it is in force. */
  #roots = ''
  /** Of the monotonic clock. */
  #askAt = 0
  #isAsking = false
  #isClosed = false
  /** What was logged last. */
  #line = ''
  #callOff: () => void = () => {}

  constructor(options: WorkloadCertificateOptions) {
    this.#options = options
    this.#backoff = new Backoff(options.time)
  }

  /** Resolves when the first has come, or is known not to come soon. */
  start(): Promise<void> {
    this.#askAt = this.#options.time.now()
    this.#look()
    return this.#settled.promise
  }

  close(): void {
    this.#isClosed = true
    this.#callOff()
  }

  /** Does what is due, and comes again. */
  #look(): void {
    const { time } = this.#options
    this.#callOff()
    if (this.#isClosed) return
    const held = this.#held
    if (held !== null && time.wallNow() >= held.expiresAt) this.#expired(held)
    else if (held !== null) this.#readRoots(held)
    if (!this.#isAsking && time.now() >= this.#askAt) {
      this.#isAsking = true
      void this.#ask()
    }
    const waits = [LOOK_MS]
    if (!this.#isAsking) waits.push(this.#askAt - time.now())
    if (this.#held !== null) waits.push(this.#held.expiresAt - time.wallNow())
    this.#callOff = time.after(Math.max(Math.min(...waits), 0), () => this.#look())
  }

  async #ask(): Promise<void> {
    const { trustDomain, identity, roots, sign } = this.#options
    const uri = `spiffe://${trustDomain}/${identity}`
    try {
      const request = certificateRequest(uri)
      this.#take(request, await sign(request.text, roots()), uri)
    } catch (error) {
      this.#failed((error as Error).message)
    }
    this.#isAsking = false
    this.#settled.resolve()
    this.#look()
  }

  /** Throws an Error that says what is wrong with it. */
  #take({ key }: CertificateRequest, chain: readonly string[], uri: string): void {
    const { time, log } = this.#options
    const leaf = parsed(chain[0])
    if (leaf === null) throw new Error('the authority of the mesh has given no certificate')
    const uris = urisOf(leaf.subjectAltName ?? '')
    if (!uris.includes(uri)) throw new Error(`the authority of the mesh has given a certificate that is not for ${uri}`)
    if (!leaf.checkPrivateKey(key)) throw new Error('the authority of the mesh has given a certificate for another key')
    const takenAt = time.wallNow()
    const expiresAt = Date.parse(leaf.validTo)
    // NaN is no time either.
    if (!(expiresAt > takenAt)) {
      throw new Error(`the certificate of the mesh is valid until ${leaf.validTo}: are clocks wrong?`)
    }
    const root = chain.length > 1 ? chain.at(-1)! : ''
    const shown = root === '' ? chain : chain.slice(0, -1)
    const cert = shown.map((text) => `${text.trim()}\n`).join('')
    const held = { cert, key: key.export({ type: 'pkcs8', format: 'pem' }).toString(), root, takenAt, expiresAt }
    this.#publish(held, this.#newestRoots())
    this.#held = held
    this.#backoff.reset()
    const share = RENEW_AFTER * (1 + JITTER * (time.random() - 0.5))
    this.#askAt = time.now() + (expiresAt - takenAt) * share
    this.#line = ''
    log('info', `this process is ${uri} in the mesh until ${timeText(expiresAt)}`)
  }

  #failed(reason: string): void {
    const { time, log, onCredentials } = this.#options
    const held = this.#held
    this.#askAt = time.now() + this.#backoff.pauseMs()
    const left = held === null ? 0 : held.expiresAt - time.wallNow()
    const isEnding = held !== null && left < (held.expiresAt - held.takenAt) * ENDING
    const message =
      held === null
        ? `there is no certificate of the mesh, and its workloads cannot be reached: ${reason}`
        : `the certificate of the mesh is not renewed: ${reason}; it is used until ${timeText(held.expiresAt)}`
    const line = `${message}${isEnding ? ', which is soon' : ''}`
    if (line === this.#line) return
    this.#line = line
    log('warn', line)
    if (held === null) onCredentials({ reason })
  }

  #expired({ expiresAt }: Held): void {
    const { time, log, onCredentials } = this.#options
    const reason = `it has expired at ${timeText(expiresAt)}, and no other has come`
    this.#held = null
    this.#roots = ''
    this.#askAt = time.now()
    log('error', `the certificate of the mesh: ${reason}: its workloads cannot be reached`)
    onCredentials({ reason })
  }

  // --- the roots ---

  #readRoots(held: Held): void {
    const roots = this.#newestRoots()
    if (roots === this.#roots) return
    try {
      this.#publish(held, roots)
      this.#options.log('info', 'the roots of the mesh are others now')
    } catch (error) {
      this.#roots = roots
      this.#options.log('warn', `the new roots of the mesh are not used: ${(error as Error).message}`)
    }
  }

  /** Those of before, when they cannot be read. */
  #newestRoots(): string {
    try {
      return this.#options.roots()
    } catch {
      // The next request for a certificate says what is wrong.
      return this.#roots
    }
  }

  /**
   * Throws OpenSSL's error when a part of it is no certificate. While roots are replaced, the answer may have some that
   * the ConfigMap does not have yet, and the other way round.
   */
  #publish({ cert, key, root }: Held, roots: string): void {
    const { trustDomain, onCredentials } = this.#options
    const ca = [...new Set([...certificatesOf(roots), ...certificatesOf(root)])].join('\n')
    // Without any, those of the system would be believed.
    if (ca === '') throw new Error('there are no roots of the mesh')
    const material = { cert, key: secret(key), ca }
    contextOf(material)
    this.#roots = roots
    onCredentials({ trustDomain, ...material })
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

const certificatesOf = (text: string): readonly string[] => text.match(CERTIFICATE) ?? []

function parsed(text: string | undefined): X509Certificate | null {
  try {
    return new X509Certificate(text ?? '')
  } catch {
    // The caller says that it is none.
    return null
  }
}

const timeText = (ms: number): string => new Date(ms).toISOString()
