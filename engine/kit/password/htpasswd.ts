/**
 * Lines of htpasswd files: "user:hash", with an optional ":comment" behind it. The formats of hashes are those that
 * Apache's htpasswd and openssl's passwd write. No message of this file contains what it is about: it is secret.
 */

export interface HtpasswdEntry {
  readonly user: string
  readonly hash: string
}

export interface LineProblem {
  /** From 1 on. */
  readonly line: number
  readonly message: string
}

/** RFC 7617 sets no bound; a name of this many characters fits a log line. */
export const USER_CHARS_MAX = 255
/** 4.4 s for one verification on a busy machine; each step doubles it (docs/design/014-passwords.md). */
const BCRYPT_COST_MAX = 14
/** 3.2 s, likewise. crypt(3) itself takes less than 1,000 for 1,000 and writes so into the hash. */
const ROUNDS_MIN = 1000
const ROUNDS_MAX = 500_000

/** bcrypt: 22 characters of salt, 31 of digest. */
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
/** The last character of these has fewer than six bits in it, which tells a digest from other text. */
const MD5 = /^\$(?:apr1|1)\$[!-#%-9;-~]{0,8}\$[./0-9A-Za-z]{21}[./01]$/
const SHA256 = /^\$5\$(?:rounds=(\d{1,10})\$)?[!-#%-9;-~]{0,16}\$[./0-9A-Za-z]{42}[./0-9A-D]$/
const SHA512 = /^\$6\$(?:rounds=(\d{1,10})\$)?[!-#%-9;-~]{0,16}\$[./0-9A-Za-z]{85}[./01]$/
const DES = /^[./0-9A-Za-z]{12}[./26AEIMQUYcgkosw]$/
const SHA1 = /^\{SHA\}[A-Za-z0-9+/]{26}[AEIMQUYcgkosw048]=$/

const FORMATS = 'bcrypt ($2y$), apr1, MD5 ($1$), SHA-256 ($5$), SHA-512 ($6$), DES or {SHA}'

/** What is wrong with a hash, in words without it, or null. */
export function hashProblem(hash: string): string | null {
  const bcrypt = BCRYPT.exec(hash)
  if (bcrypt !== null) return costProblem(Number(bcrypt[1]))
  const sha = SHA256.exec(hash) ?? SHA512.exec(hash)
  if (sha !== null) return sha[1] === undefined ? null : roundsProblem(Number(sha[1]))
  if (MD5.test(hash) || DES.test(hash) || SHA1.test(hash)) return null
  if (hash === '') return 'has no hash behind the user name'
  const begins = /^(?:\$2[aby]\$|\$apr1\$|\$[156]\$|\{SHA\})/.exec(hash)
  if (begins !== null) return `has a malformed hash: it begins with ${begins[0]} but does not go on as such a hash does`
  return `has none of the known hashes: ${FORMATS}. Passwords themselves are not accepted: htpasswd -nB USER makes a line`
}

function costProblem(cost: number): string | null {
  if (cost >= 4 && cost <= BCRYPT_COST_MAX) return null
  return `has a bcrypt cost of ${cost}; 4 to ${BCRYPT_COST_MAX} are accepted`
}

function roundsProblem(rounds: number): string | null {
  if (rounds >= ROUNDS_MIN && rounds <= ROUNDS_MAX) return null
  return `has ${rounds} rounds; ${ROUNDS_MIN} to ${ROUNDS_MAX} are accepted`
}

/** One line without its end. A string says what is wrong with it. */
export function parseLine(line: string): HtpasswdEntry | string {
  const end = line.indexOf(':')
  if (end < 0) return 'must be "user:hash"'
  const user = line.slice(0, end)
  if (user === '') return 'has no user name before the colon'
  if (user.length > USER_CHARS_MAX) return `has a user name of more than ${USER_CHARS_MAX} characters`
  // RFC 7617 section 2: neither user names nor passwords contain control characters.
  if (/[\0-\x1f\x7f]/.test(line)) return 'contains control characters'
  if (!line.isWellFormed()) return 'is no valid Unicode text'
  const rest = line.slice(end + 1)
  const comment = rest.indexOf(':')
  const hash = (comment < 0 ? rest : rest.slice(0, comment)).trimEnd()
  const problem = hashProblem(hash)
  return problem ?? { user, hash }
}

/** A whole file: empty lines and those that begin with "#" say nothing. Every problem is in the result. */
export function parseHtpasswd(text: string): { entries: HtpasswdEntry[]; problems: LineProblem[] } {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  return collect(lines.map((line) => (/^\s*(?:#|$)/.test(line) ? null : line)))
}

/** `lines`: one entry each; null says nothing. A user may be there once. */
export function collect(lines: readonly (string | null)[]): { entries: HtpasswdEntry[]; problems: LineProblem[] } {
  const entries: HtpasswdEntry[] = []
  const problems: LineProblem[] = []
  const lineOf = new Map<string, number>()
  lines.forEach((text, i) => {
    if (text === null) return
    const line = i + 1
    const parsed = parseLine(text)
    if (typeof parsed === 'string') {
      problems.push({ line, message: parsed })
      return
    }
    const first = lineOf.get(parsed.user)
    if (first !== undefined) problems.push({ line, message: `is about the same user as line ${first}` })
    else {
      lineOf.set(parsed.user, line)
      entries.push(parsed)
    }
  })
  return { entries, problems }
}
