/** Parts of messages as people are shown them: what is secret by its name or by its look is hidden. */
import type { HeaderBlock } from '#engine/http/headers.ts'
import { isSensitive, REDACTED, redactText, redactUrl, withoutKeys } from '#engine/kit/sensitive.ts'

export type ShownHeader = readonly [name: string, value: string]

/** More of one value is not shown. */
const VALUE_CHARS_MAX = 512
const HEADERS_MAX = 200

export function shownText(text: string, max = VALUE_CHARS_MAX): string {
  const cut = text.length > max ? `${text.slice(0, max)}...` : text
  return withoutKeys(redactText(cut))
}

/** A path with its query. */
export function shownTarget(target: string): string {
  return withoutKeys(redactUrl(target.length > VALUE_CHARS_MAX ? `${target.slice(0, VALUE_CHARS_MAX)}...` : target))
}

export function shownHeader(name: string, value: string): ShownHeader {
  return [shownText(name), isSensitive(name) ? REDACTED : shownText(value)]
}

/** `before`: what is not in it as well says who asks, whatever its name is, and is hidden. */
export function shownHeaders(block: HeaderBlock, before = block): ShownHeader[] {
  const headers: ShownHeader[] = []
  const isNew = (name: string) => before !== block && before.getAll(name) !== block.getAll(name)
  block.forEach((name, value) => {
    if (headers.length >= HEADERS_MAX) return
    headers.push(isNew(name.toLowerCase()) ? [shownText(name), REDACTED] : shownHeader(name, value))
  })
  return headers
}

/** What has become of headers: `sets x-team`, `removes cookie`. */
export function changesOf(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const set = [...after]
    .filter(([name, value]) => before.get(name) !== value)
    .map(([name]) => `sets ${shownText(name)}`)
  const removed = [...before.keys()].filter((name) => !after.has(name)).map((name) => `removes ${shownText(name)}`)
  return [...set, ...removed]
}

/** By name in lower case, all values of a name together. */
export function headersByName(block: HeaderBlock): Map<string, string> {
  const found = new Map<string, string>()
  block.forEach((name, value) => {
    const key = name.toLowerCase()
    const before = found.get(key)
    found.set(key, before === undefined ? value : `${before}, ${value}`)
  })
  return found
}
