/**
 * Who calls, and whether they may. Without tokens everybody on this machine may do everything, since guard.ts keeps
 * pages of other sites out. With them a request over TCP shows one; a unix socket has the permissions of its file.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { AdminSpec } from '#engine/ir/process.ts'
import { reveal } from '#engine/kit/secret.ts'
import type { Address } from './address.ts'
import { ROLES, type Role } from './api/operation.ts'
import { jsonReply, type Reply, type Request } from './server.ts'

export interface Caller {
  /** Of the token; "local" without one. */
  readonly name: string
  readonly role: Role
}

/** What the caller's pages need to know. */
export interface Session extends Caller {
  /** For CSRF_HEADER. */
  readonly csrf: string
}

/** A page sends it with all calls but GET: it can only know its value by having read an answer of this port. */
export const CSRF_HEADER = 'x-weir-csrf'

const LOCAL: Caller = { name: 'local', role: 'change' }
const CHALLENGE = 'Basic realm="weir", charset="UTF-8"'

const refused = (status: number, code: string, message: string): Reply =>
  jsonReply(status, { error: { code, message } })

const UNKNOWN: Reply = {
  ...refused(
    401,
    'UNAUTHENTICATED',
    'this port needs a token of config.admin.tokens: "Authorization: Bearer TOKEN", or in a browser the name and the token'
  ),
  headers: { 'www-authenticate': CHALLENGE }
}

export class Gate {
  readonly #tokens: readonly (Caller & { readonly hash: Buffer })[]
  readonly #isOpen: boolean
  /** Of this process: a page that has been open since before asks again. */
  readonly #key = randomBytes(32)

  constructor(spec: AdminSpec | undefined, address: Address) {
    const tokens = spec?.tokens ?? []
    this.#tokens = tokens.map(({ name, role, hash }) => ({ name, role, hash: Buffer.from(reveal(hash), 'hex') }))
    this.#isOpen = this.#tokens.length === 0 || address.kind === 'unix'
  }

  /** Null: nobody who is known. */
  callerOf(request: Request): Caller | null {
    if (this.#isOpen) return LOCAL
    const token = tokenOf(request.headers.authorization ?? '')
    if (token === null) return null
    const hash = createHash('sha256').update(token).digest()
    // All of them, so that the time says nothing of where it stands.
    let found: Caller | null = null
    for (const known of this.#tokens) if (timingSafeEqual(known.hash, hash)) found = known
    return found
  }

  /** The caller, or why they may not call what takes `role`. */
  admit(
    request: Request,
    role: Role
  ): { readonly caller: Caller } | { readonly refused: Reply; readonly caller: null } {
    const caller = this.callerOf(request)
    if (caller === null) return { caller, refused: UNKNOWN }
    if (ROLES.indexOf(caller.role) < ROLES.indexOf(role)) {
      const message = `this takes the role "${role}", and ${caller.name} has "${caller.role}" (config.admin.tokens)`
      return { caller: null, refused: refused(403, 'FORBIDDEN', message) }
    }
    if (isPage(request) && request.method !== 'GET' && request.method !== 'HEAD' && !this.#hasMark(request, caller)) {
      const message = `pages send ${CSRF_HEADER} with this, whose value is csrf of GET /api/v1/session`
      return { caller: null, refused: refused(403, 'CSRF', message) }
    }
    return { caller }
  }

  /** Of a caller who has been admitted. */
  readonly session = (request: Request): Session => {
    const { name, role } = this.callerOf(request) ?? LOCAL
    return { name, role, csrf: this.#markOf(name) }
  }

  #hasMark({ headers }: Request, { name }: Caller): boolean {
    const shown = Buffer.from(String(headers[CSRF_HEADER] ?? ''))
    const wanted = Buffer.from(this.#markOf(name))
    return shown.length === wanted.length && timingSafeEqual(shown, wanted)
  }

  #markOf(name: string): string {
    return createHmac('sha256', this.#key).update(name).digest('base64url')
  }
}

/** Browsers send one of these with every request that is no GET; curl sends none. */
function isPage({ headers }: Request): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined || headers.cookie !== undefined
}

/** Of `Bearer TOKEN` or `Basic base64(NAME:TOKEN)`; the name is for people. */
function tokenOf(authorization: string): string | null {
  const [, scheme = '', value = ''] = /^(bearer|basic) +([\w+/=.~-]+)$/i.exec(authorization) ?? []
  if (scheme === '') return null
  if (scheme.toLowerCase() === 'bearer') return value
  const text = Buffer.from(value, 'base64').toString()
  const colon = text.indexOf(':')
  return colon < 0 ? null : text.slice(colon + 1)
}
