/** JSON from elsewhere, which may be none. */

/** The value; undefined: `text` is no JSON. The parser's own message quotes the text, so it goes no further. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
