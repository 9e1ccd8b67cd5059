/**
 * Token -> claims, or why it is refused. A token that was verified before is decided at once; another one
 * waits for the verification of its signature, and perhaps for the keys of its issuer.
 */

import { hash } from 'node:crypto'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Claims } from '#engine/contract/identity.ts'
import type { Time } from '#engine/contract/time.ts'
import { type ClaimRules, deadlineOf, hasAudience, refusedClaims } from './jwt-claims.ts'
import { explainToken } from './jwt-explanation.ts'
import { fits, type KeySet, type VerificationKey, verifySignature } from './jwt-keys.ts'
import { type ParsedToken, parseToken, TOKEN_CHARS_MAX } from './jwt-token.ts'
import { RecentTokens } from './recent-tokens.ts'
import type { KeySource } from './remote-keys.ts'
import { type VerifiedToken, VerifiedTokens } from './verified-tokens.ts'
import { WorkQueue } from './work-queue.ts'

/** libuv has four threads; more at once would only keep name resolution and files waiting. */
const VERIFICATIONS_MAX = 4
const WAITING_MAX = 1_024
/** Keys that one token is tried against: issuers that leave out "kid" have one or two. */
const TRIES_MAX = 8

export interface Provider {
  readonly issuer: string
  /** Null: any audience. */
  readonly audiences: ReadonlySet<string> | null
  readonly keys: KeySource
}

/** What verifiers of one thread share, and what survives a reload. */
export class TokenChecks {
  readonly tokens = new VerifiedTokens()
  /** By cache key and keys: the same token is verified once, however many requests bring it. */
  readonly underWay = new Map<string, Promise<VerifiedToken | ErrorCode>>()
  readonly queue: WorkQueue

  constructor(queue = new WorkQueue(VERIFICATIONS_MAX, WAITING_MAX)) {
    this.queue = queue
  }
}

export interface VerifierOptions extends ClaimRules {
  /** Names providers and rules: what was verified by another verifier with this id holds here. */
  readonly id: string
  readonly providers: readonly Provider[]
  readonly checks: TokenChecks
  readonly time: Pick<Time, 'wallNow' | 'after'>
}

/** What one provider made of a token; `isFinal` when newer keys would not change it. */
interface Attempt {
  readonly answer: VerifiedToken | ErrorCode
  readonly isFinal: boolean
}

export class Verifier {
  readonly #options: VerifierOptions
  readonly #id: string
  readonly #checks: TokenChecks
  readonly #now: () => number
  readonly #recent: RecentTokens<VerifiedToken>

  constructor(options: VerifierOptions) {
    this.#options = options
    this.#id = `${options.id}:`
    this.#checks = options.checks
    this.#now = options.time.wallNow
    this.#recent = new RecentTokens(options.time.after)
  }

  /** A promise only when the signature has to be verified. */
  check(token: string): Claims | ErrorCode | Promise<Claims | ErrorCode> {
    if (token.length > TOKEN_CHARS_MAX) return 'JWT_MALFORMED'
    const recent = this.#recent.get(token)
    if (recent !== undefined && this.#isStanding(recent)) return recent.claims
    // The hash and not the token: a dump of the memory has no list of tokens that still work.
    const key = hash('sha256', this.#id + token, 'base64')
    const { tokens } = this.#checks
    const known = tokens.get(key)
    if (known !== undefined) {
      if (this.#isStanding(known)) {
        this.#recent.set(token, known)
        return known.claims
      }
      tokens.delete(key)
      if (this.#hasItsKeys(known)) return 'JWT_EXPIRED'
    }
    return this.#verify(token, key)
  }

  #isStanding(known: VerifiedToken): boolean {
    return this.#hasItsKeys(known) && this.#now() < known.deadline
  }

  /** What was expected and what was found, for the log, of a token that was refused with `code`. */
  explain(token: string, code: ErrorCode): string {
    return explainToken(token, code, this.#options, this.#now())
  }

  /** The source's keys of now: others than those it was verified with revoke it. */
  #hasItsKeys({ provider, fingerprint }: VerifiedToken): boolean {
    return this.#options.providers[provider]!.keys.current?.fingerprint === fingerprint
  }

  #verify(token: string, key: string): ErrorCode | Promise<Claims | ErrorCode> {
    const { underWay } = this.#checks
    // Configurations that differ in nothing but their keys share a cache key, and not what they are about to find out.
    const flight = this.#options.providers.reduce((text, { keys }) => `${text} ${keys.current?.fingerprint}`, key)
    let answer = underWay.get(flight)
    if (answer === undefined) {
      const parsed = parseToken(token)
      if (parsed === null) return 'JWT_MALFORMED'
      const found = this.#candidates(parsed)
      if (typeof found === 'string') return found
      answer = this.#settle(parsed, found, token.length, key).finally(() => underWay.delete(flight))
      underWay.set(flight, answer)
    }
    return answer.then((outcome) => (typeof outcome === 'string' ? outcome : outcome.claims))
  }

  /** Indices of the providers that may have issued the token: by issuer first, so equal kids never collide. */
  #candidates({ claims }: ParsedToken): readonly number[] | ErrorCode {
    const { providers } = this.#options
    const refused = refusedClaims(claims, this.#options, this.#now())
    if (refused !== null) return refused
    const issued = [...providers.keys()].filter((i) => providers[i]!.issuer === claims.iss)
    if (issued.length === 0) return 'JWT_ISSUER'
    const wanted = issued.filter((i) => hasAudience(claims, providers[i]!.audiences))
    return wanted.length === 0 ? 'JWT_AUDIENCE' : wanted
  }

  async #settle(
    token: ParsedToken,
    candidates: readonly number[],
    chars: number,
    key: string
  ): Promise<VerifiedToken | ErrorCode> {
    let refusal: ErrorCode = 'JWT_KEY_UNKNOWN'
    for (const provider of candidates) {
      const answer = await this.#ask(token, provider, chars)
      if (typeof answer !== 'string') {
        this.#checks.tokens.set(key, answer)
        return answer
      }
      // What another provider of the same issuer says weighs more than that this one knows no key.
      if (answer !== 'JWT_KEY_UNKNOWN') refusal = answer
    }
    return refusal
  }

  async #ask(token: ParsedToken, provider: number, chars: number): Promise<VerifiedToken | ErrorCode> {
    const { keys } = this.#options.providers[provider]!
    if (keys.current === null) await keys.ready()
    const before = keys.current
    if (before === null) return 'JWT_KEYS_UNAVAILABLE'
    const first = await this.#try(token, provider, before, chars)
    if (first.isFinal) return first.answer
    const refresh = keys.refreshFor(token.kid)
    if (refresh === null) return first.answer
    await refresh
    const after = keys.current
    if (after === null || after.fingerprint === before.fingerprint) return first.answer
    return (await this.#try(token, provider, after, chars)).answer
  }

  async #try(token: ParsedToken, provider: number, { keys, fingerprint }: KeySet, chars: number): Promise<Attempt> {
    const { kid, alg } = token
    const fitting = keys.filter((key) => fits(key, alg))
    const named = kid === null ? fitting : fitting.filter((key) => key.kid === kid)
    // An issuer that does not name its keys may name one in its tokens nevertheless.
    const tried = named.length > 0 ? named : fitting.filter((key) => key.kid === null)
    if (tried.length === 0) return { answer: 'JWT_KEY_UNKNOWN', isFinal: false }
    const verified = this.#checks.queue.run(() => isSignedByOne(tried.slice(0, TRIES_MAX), token))
    if (verified === null) return { answer: 'JWT_OVERLOAD', isFinal: true }
    // A key that the token names is the one it was signed with; others may have come since.
    if (!(await verified)) return { answer: 'JWT_SIGNATURE', isFinal: kid !== null && named.length > 0 }
    const claims = freeze(token.claims)
    const deadline = deadlineOf(claims, this.#options)
    // Keys may have been fetched, and others may have been in front: seconds that count.
    if (this.#now() >= deadline) return { answer: 'JWT_EXPIRED', isFinal: true }
    return { answer: { claims, deadline, provider, fingerprint, chars }, isFinal: true }
  }
}

async function isSignedByOne(
  keys: readonly VerificationKey[],
  { alg, signed, signature }: ParsedToken
): Promise<boolean> {
  for (const key of keys) if (await verifySignature(key, alg, signed, signature)) return true
  return false
}

/** Many requests share the claims: none may change them. As deep as the parser allows. */
function freeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) freeze(inner)
  return Object.freeze(value)
}
