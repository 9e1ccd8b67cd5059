/**
 * spec.traffic.basicAuthentication: callers show a user name and a password (docs/specification.md#authentication, RFC
 * 7617), compared with lines of an htpasswd file. The name is ex.identity.basicAuth; neither it nor the password
 * reaches the backend.
 */

import { hash as digestOf } from 'node:crypto'
import { type Detail, placeOf } from '#engine/contract/detail.ts'
import { type Exchange, STEP_REQUEST } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook, STOP, type Verdict } from '#engine/contract/filter.ts'
import { type Claims, identityOf } from '#engine/contract/identity.ts'
import { type CompileContext, type Compiled, FieldError, type Policy, type Sources } from '#engine/contract/policy.ts'
import { refuse } from '#engine/contract/refuse.ts'
import { secretEntry } from '#engine/contract/secrets.ts'
import { collect, type HtpasswdEntry, type LineProblem, parseHtpasswd } from '#engine/kit/password/htpasswd.ts'
import { isSha1, verifySha1 } from '#engine/kit/password/sha1.ts'
import { reveal, type Secret, secret } from '#engine/kit/secret.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { deferred, list, longString, says, shortString, z } from '#engine/schema/schema.ts'
import { secretRef } from '#engine/schema/secret-ref.ts'
import { filledIn, onlyInFiles, words } from '#engine/schema/spelling.ts'
import { parseBasic } from '#policies/shared/basic-credentials.ts'
import { type Credential, credentialAt, SEVERAL } from '#policies/shared/credential.ts'
import { asNobody } from '#policies/shared/nobody.ts'
import { type Answer, PasswordVerifier } from '#policies/shared/password-verifier.ts'

type Mode = 'Strict' | 'Optional'

interface User {
  readonly name: string
  readonly hash: Secret
}

type UserSource = readonly User[] | { readonly file: string } | { readonly secret: string }

interface Config<U = readonly User[]> {
  readonly mode: Mode
  readonly realm: string
  readonly users: U
}

// --- schema ---

const MODES = ['Strict', 'Optional'] as const
/** docs/specification.md#authentication. */
const USERS_MAX = 256
/** Of a file, which is for longer lists than `users`. */
const FILE_USERS_MAX = 10_000
const FILE_CHARS_MAX = 1_000_000
/** Of a secret, which holds the whole file. */
const ENTRY = '.htaccess'

const usersOf = (entries: readonly HtpasswdEntry[]): User[] =>
  entries.map(({ user, hash }) => ({ name: user, hash: secret(hash) }))

const users = () =>
  list(z.string().max(1024), 1, USERS_MAX).transform((lines, context): readonly User[] => {
    const { entries, problems } = collect(lines)
    for (const { line, message } of problems) context.addIssue({ code: 'custom', path: [line - 1], message })
    return usersOf(entries)
  })

const fileText = () =>
  z
    .string()
    .min(1)
    .max(FILE_CHARS_MAX)
    .transform((text, context): UserSource => {
      const { entries, problems } = readFileText(text)
      // All lines are one text: it has no places of its own.
      if (problems.length > 0) context.addIssue({ code: 'custom', message: sayAll(problems) })
      return usersOf(entries)
    })

/** A single word is the name of a file, written where the lines belong. */
function orFile(text: string): string {
  return /^[^\s:]+$/.test(text) ? '; a file is written { file: PATH }' : ''
}

const htpasswd = () =>
  z.union([fileText(), z.strictObject({ file: longString() })], {
    error: (issue) => {
      if (issue.code !== 'invalid_union' || issue.input === undefined) return undefined
      if (typeof issue.input === 'string') return `${issue.errors[0]?.[0]?.message}${orFile(issue.input)}`
      return 'must be lines of an htpasswd file, or { file: PATH }'
    }
  })

const schema = deferred(() =>
  oneOf(
    { users: users().optional(), htpasswd: onlyInFiles(htpasswd().optional()), secretRef: secretRef(ENTRY).optional() },
    {
      mode: words(MODES, 'Strict').optional(),
      realm: filledIn(
        shortString().regex(/^[ -~]*$/, { error: says('must be visible ASCII characters and spaces') }),
        'Restricted'
      ).optional()
    }
  ).transform(
    ({ users: lines, htpasswd: file, secretRef: ref, mode = 'Strict', realm = 'Restricted' }): Config<UserSource> => ({
      mode: mode.toLowerCase() === 'strict' ? 'Strict' : 'Optional',
      realm,
      users: lines ?? file ?? { secret: ref!.name }
    })
  )
)

function readFileText(text: string): ReturnType<typeof parseHtpasswd> {
  const { entries, problems } = parseHtpasswd(text)
  if (problems.length === 0 && entries.length === 0) problems.push({ line: 1, message: 'there is no user here' })
  if (entries.length > FILE_USERS_MAX) {
    problems.push({ line: 1, message: `there are ${entries.length} users; the limit is ${FILE_USERS_MAX}` })
  }
  return { entries, problems }
}

/** A few are enough to see what is the matter. */
const PROBLEMS_SHOWN_MAX = 5

function sayAll(problems: readonly LineProblem[]): string {
  const lines = problems.slice(0, PROBLEMS_SHOWN_MAX).map(({ line, message }) => `line ${line}: ${message}`)
  const rest = problems.length - lines.length
  return lines.join('; ') + (rest > 0 ? `; and ${rest} more` : '')
}

// --- load time ---

function resolve(config: Config<UserSource>, sources: Sources): Config {
  const { users: source } = config
  if ('file' in source) {
    const { file } = source
    return { ...config, users: usersFrom(file, ['htpasswd', 'file'], () => sources.readFile(file)) }
  }
  if (!('secret' in source)) return { ...config, users: source }
  const { secret: name } = source
  const read = () => secretEntry(sources.secrets.get(name), ENTRY)
  return { ...config, users: usersFrom(`'${ENTRY}' of secret '${name}'`, ['secretRef', 'name'], read) }
}

/** `what`: as messages call the text. */
function usersFrom(what: string, at: readonly string[], read: () => string): readonly User[] {
  try {
    const { entries, problems } = readFileText(read())
    if (problems.length > 0) throw new Error(`${what}: ${sayAll(problems)}`)
    return usersOf(entries)
  } catch (error) {
    throw new FieldError(at, (error as Error).message)
  }
}

// --- build time ---

const PASSWORDS = 'basicAuthentication.passwords'
const BUSY = ['Retry-After', '1'] as const

/** What the hooks need of a user; looked up by the name's bytes as latin1 text. */
interface Known {
  readonly hash: string
  readonly claims: Claims
}

function compile(config: Config, { state, offload, time }: CompileContext): Compiled {
  const known = new Map<string, Known>()
  for (const { name, hash } of config.users) {
    const claims = Object.freeze({ username: name })
    known.set(Buffer.from(name).latin1Slice(), { hash: reveal(hash), claims })
  }
  const realm = config.realm.replace(/["\\]/g, '\\$&')
  // RFC 7617 section 2.1: tells clients to encode as UTF-8.
  const challenge = ['WWW-Authenticate', `Basic realm="${realm}", charset="UTF-8"`]
  const verifier = state(PASSWORDS, () => new PasswordVerifier(offload, time.now))
  return { filter: { onRequest: authenticate(config.mode, new Users(known), verifier, challenge) } }
}

class Users {
  readonly #known: ReadonlyMap<string, Known>
  readonly #hashes: readonly string[]
  readonly #seed: string

  constructor(known: ReadonlyMap<string, Known>) {
    this.#known = known
    this.#hashes = [...known.values()].map(({ hash }) => hash)
    this.#seed = digestOf('sha256', this.#hashes.join('\n'))
  }

  find(name: string): Known | undefined {
    return this.#known.get(name)
  }

  /**
   * The hash for an unknown user name: that of another user, and always of the same one for the same name, in every
   * thread and after a restart. So the time does not show whether a name is known.
   */
  standIn(name: string): string {
    const draw = Number.parseInt(digestOf('sha256', this.#seed + name).slice(0, 12), 16)
    return this.#hashes[draw % this.#hashes.length]!
  }
}

// --- request time ---

// For the log: nothing of what was shown, and not which half of it is wrong.
const missing: Detail = (ex) => `${placeOf(ex, 'basicAuthentication')}: no Authorization header with the scheme Basic`
const repeated: Detail = (ex) => `${placeOf(ex, 'basicAuthentication')}: two Authorization headers`
const wrong: Detail = (ex) => `${placeOf(ex, 'basicAuthentication')}: no user there has this name and this password`
const busy: Detail = (ex) => `${placeOf(ex, 'basicAuthentication')}: passwords come faster than they can be hashed`

const HEADER = { kind: 'header', name: 'authorization', prefix: 'Basic ' } as const

function authenticate(mode: Mode, users: Users, verifier: PasswordVerifier, challenge: readonly string[]): Hook {
  const credential = credentialAt(HEADER)
  return (ex) => {
    const text = credential.find(ex)
    if (text === null) return mode === 'Strict' ? refuse(ex, 'BASIC_MISSING', challenge, missing) : asNobody(ex)
    if (text === SEVERAL) return refuse(ex, 'BASIC_REPEATED', null, repeated)
    const login = parseBasic(text)
    if (login === null) return refuse(ex, 'BASIC_INVALID', challenge, wrong)
    const known = users.find(login.user)
    const hash = known === undefined ? users.standIn(login.user) : known.hash
    if (isSha1(hash)) return decide(ex, verifySha1(hash, login.password), known, text, credential, challenge)
    // Asked for every name, because asking takes time too.
    if (verifier.remembers(hash, login.password) && known !== undefined) {
      return decide(ex, true, known, text, credential, challenge)
    }
    const answer = verifier.verify(login.user, hash, login.password)
    if (answer === null) return refuse(ex, 'BASIC_OVERLOAD', BUSY, busy)
    // Only for a password that was not right lately: its hash is computed in another thread.
    return answer.then((result) => {
      // The client has gone or a timeout has answered: that answer is not to be changed.
      if (ex.step !== STEP_REQUEST) return STOP
      return decide(ex, result, known, text, credential, challenge)
    })
  }
}

function decide(
  ex: Exchange,
  answer: Answer,
  known: Known | undefined,
  text: string,
  credential: Credential,
  challenge: readonly string[]
): Verdict {
  if (answer === null) return refuse(ex, 'BASIC_OVERLOAD', BUSY, busy)
  if (!answer || known === undefined) return refuse(ex, 'BASIC_INVALID', challenge, wrong)
  credential.take(ex, text)
  identityOf(ex).basicAuth = known.claims
  return CONTINUE
}

export const basicAuthentication: Policy = {
  name: 'basicAuthentication',
  section: 'traffic',
  schema,
  aliases: [{ name: 'basicAuth' }],
  identifies: 'basicAuth',
  // No password is known that has this hash.
  closed: { users: [`closed:{SHA}${Buffer.alloc(20).toString('base64')}`] },
  resolve,
  compile
}
