/** Text that comes in pieces, cut where it may be. */

/** Whole lines of what has come, and the rest. */
export function linesIn(text: string): { readonly lines: readonly string[]; readonly rest: string } {
  const parts = text.split('\n')
  const rest = parts.pop() ?? ''
  return { lines: parts.filter((line) => line !== ''), rest }
}

/** Data of whole events of an event stream (WHATWG HTML, section 9.2), and the rest. */
export function eventsIn(text: string): { readonly events: readonly string[]; readonly rest: string } {
  const parts = text.replace(/\r\n?/g, '\n').split('\n\n')
  const rest = parts.pop() ?? ''
  const events = parts.flatMap((part) => {
    const data = part.split('\n').flatMap((line) => (line.startsWith('data:') ? [line.slice(5).replace(/^ /, '')] : []))
    return data.length === 0 ? [] : [data.join('\n')]
  })
  return { events, rest }
}
