/** W3C Baggage: what a caller wants all services behind it to know. Passed on, within the bounds of section 3.3.2. */
import type { HeaderBlock } from '#engine/http/headers.ts'

export const BAGGAGE_MEMBERS_MAX = 180
export const BAGGAGE_CHARS_MAX = 8192

/** Keeps baggage within bounds: members that are too many, or malformed, are left out whole. */
export function boundBaggage(headers: HeaderBlock): void {
  const i = headers.find('baggage', 0)
  if (i < 0) return
  const isOne = headers.find('baggage', i + 1) < 0
  const received = isOne ? headers.value(i) : headers.getAll('baggage')!
  const kept = boundedBaggage(received)
  if (kept === received && isOne) return
  headers.remove('baggage')
  if (kept !== '') headers.append('baggage', kept)
}

/** Members in their order, as long as there is room for them. */
export function boundedBaggage(text: string): string {
  const kept: string[] = []
  let chars = -1
  let start = 0
  while (start <= text.length && kept.length < BAGGAGE_MEMBERS_MAX) {
    const comma = text.indexOf(',', start)
    const end = comma < 0 ? text.length : comma
    const member = text.substring(start, end).trim()
    start = end + 1
    if (!isMember(member) || chars + 1 + member.length > BAGGAGE_CHARS_MAX) continue
    chars += member.length + 1
    kept.push(member)
  }
  // Blanks around commas are the sender's: as long as nothing is left out, its own text goes on.
  return hasAll(kept, text) ? text : kept.join(',')
}

function hasAll(kept: readonly string[], text: string): boolean {
  if (text.length > BAGGAGE_CHARS_MAX) return false
  let commas = 0
  for (let i = text.indexOf(','); i >= 0; i = text.indexOf(',', i + 1)) commas++
  return kept.length === commas + 1
}

/** key "=" value, then properties; the key is a token, and all of it is visible ASCII with blanks between parts. */
function isMember(member: string): boolean {
  const equals = member.indexOf('=')
  const semicolon = member.indexOf(';')
  if (equals < 1 || (semicolon >= 0 && semicolon < equals)) return false
  for (let i = 0; i < member.length; i++) {
    const c = member.charCodeAt(i)
    if (c > 126 || (c < 32 && c !== 9)) return false
  }
  return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+[ \t]*$/.test(member.substring(0, equals))
}
