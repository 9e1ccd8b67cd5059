/** What was probably meant by a value of another kind: a number in quotes, a size or a duration in words. */

/** `message`: what the schema says of `input`. Undefined: nothing comes to mind. */
export function valueHint(input: unknown, message: string): string | undefined {
  if (message.startsWith('must be a whole number'))
    return typeof input === 'string' ? numberHint(input.trim()) : undefined
  if (message.startsWith('must be a duration')) return durationHint(input)
  return undefined
}

const SIZE = /^(\d+(?:\.\d+)?) ?([kmgt])i?b?$/i
const POWERS = { k: 1, m: 2, g: 3, t: 4 } as const

function numberHint(text: string): string | undefined {
  if (/^\d{1,15}$/.test(text)) return `write it without quotes: ${text}`
  const [, digits, unit] = SIZE.exec(text) ?? []
  if (digits === undefined) return undefined
  const bytes = Number(digits) * 1024 ** POWERS[unit!.toLowerCase() as keyof typeof POWERS]
  return Number.isSafeInteger(bytes) ? `in bytes that is ${bytes}` : undefined
}

const WORDS = /^(\d+) ?(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)$/i

function durationHint(input: unknown): string | undefined {
  if (typeof input === 'number' && Number.isInteger(input) && input >= 0)
    return `with its unit: ${input}s, or ${input}ms`
  const [, digits, word] = (typeof input === 'string' ? WORDS.exec(input.trim()) : null) ?? []
  if (digits === undefined) return undefined
  const unit = /^(?:ms|mil)/i.test(word!) ? 'ms' : word![0]!.toLowerCase()
  return `did you mean ${digits}${unit}?`
}
