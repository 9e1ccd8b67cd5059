/** Strings by code points, which is how CEL counts. Most texts have no surrogates, and then units are points. */

const SURROGATE = /[\ud800-\udfff]/

export function hasSurrogates(text: string): boolean {
  return SURROGATE.test(text)
}

/** Code points of a text. */
export function codePoints(text: string): number {
  if (!hasSurrogates(text)) return text.length
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.codePointAt(i)!
    if (c > 0xffff) i++
    count++
  }
  return count
}
