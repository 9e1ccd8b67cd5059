/** Origins with wildcards in the host, as cors allows them; compiled ahead, without expressions of users. */
import { advice, defaultPort, type Origin, originText, parseOrigin } from './origin.ts'

/** A host pattern: text that must stand in it in this order, with anything between. */
interface Wildcard {
  readonly scheme: string
  readonly port: number
  /** At least two; the first begins the host, the last ends it. */
  readonly parts: readonly string[]
}

/** Whether an Origin header is one of a list. */
export interface OriginMatcher {
  matches(origin: string): boolean
}

const PATTERN = /^([a-z][a-z0-9+.-]{0,31}):\/\/([a-z0-9*_.-]+)(?::([0-9]{1,5}))?$/

/** What is wrong with an entry of allowOrigins, or null. */
export function originPatternProblem(text: string): string | null {
  if (text === '*' || parseOrigin(text) !== null || parsePattern(text) !== null) return null
  if (/:\*$/.test(text))
    return 'wildcards are for the host only: name the port, or leave it away for that of the scheme'
  const more = text.includes('*') && text.includes('://') ? '' : advice(text)
  return `must be "*", or an origin such as "https://example.com" or "https://*.example.com"${more}`
}

/** `list`: entries that originPatternProblem has found nothing wrong with, without "*". */
export function originMatcher(list: readonly string[]): OriginMatcher {
  const exact = new Set<string>()
  const wildcards: Wildcard[] = []
  for (const text of list) {
    const origin = parseOrigin(text)
    if (origin !== null) exact.add(originText(origin))
    else wildcards.push(parsePattern(text)!)
  }
  const search = (text: string): boolean => {
    const origin = parseOrigin(text)
    if (origin === null) return false
    for (let i = 0; i < wildcards.length; i++) if (covers(wildcards[i]!, origin)) return true
    return exact.has(originText(origin))
  }
  // Taking an origin apart costs 1 us, and most requests to an API come from pages of one site.
  let lastText = ''
  let lastAnswer = search(lastText)
  return {
    matches(text) {
      // Browsers send the one spelling, so whatever is exact is found at once.
      if (exact.has(text)) return true
      if (text !== lastText) {
        lastAnswer = search(text)
        lastText = text
      }
      return lastAnswer
    }
  }
}

function parsePattern(text: string): Wildcard | null {
  const [, scheme, host, port] = PATTERN.exec(text.toLowerCase()) ?? []
  if (scheme === undefined || host === undefined || !host.includes('*')) return null
  const number = port === undefined ? defaultPort(scheme) : Number(port)
  if (port !== undefined && (number < 1 || number > 65535)) return null
  const parts = host.split(/\*+/)
  // Whatever stands for the star, what is around it must be able to be a host.
  return parseOrigin(`${scheme}://${parts.join('x')}`) === null ? null : { scheme, port: number, parts }
}

/** The parts stand in the host one after the other; none is searched twice, so it is linear. */
function covers({ scheme, port, parts }: Wildcard, origin: Origin): boolean {
  if (scheme !== origin.scheme || port !== origin.port) return false
  const { host } = origin
  const last = parts[parts.length - 1]!
  const end = host.length - last.length
  let from = parts[0]!.length
  if (end < from || !host.startsWith(parts[0]!) || !host.endsWith(last)) return false
  for (let i = 1; i < parts.length - 1; i++) {
    const at = host.indexOf(parts[i]!, from)
    if (at < 0 || at + parts[i]!.length > end) return false
    from = at + parts[i]!.length
  }
  return true
}
