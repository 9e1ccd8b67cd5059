/**
 * Names under Bedrock's rules. Tools: [a-zA-Z0-9_-]{1,64} (ToolSpecification of the API reference). A name that
 * breaks the rule is escaped so that it can be read back without remembering anything: "weir--", then each byte but
 * letters, digits and "_" as "-" and two hex digits. "files.read" is "weir--files-2eread".
 */
import { hash } from 'node:crypto'

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/
const TOOL_NAME_MAX = 64
const MARK = 'weir--'
const PLAIN = /^\w$/
const ESCAPED = /^(?:\w|-[0-9a-f]{2})*$/
const CALL_ID = /^[a-zA-Z0-9_.:-]{1,64}$/

/** Null when there is no room for it: names of more than 64 characters, or of more than 58 escaped. */
export function toWireToolName(name: string): string | null {
  if (!name.startsWith(MARK) && TOOL_NAME.test(name)) return name
  if (name.length > TOOL_NAME_MAX) return null
  const bytes = Buffer.from(name).toString('latin1')
  const escaped = [...bytes].map((byte) =>
    PLAIN.test(byte) ? byte : `-${byte.charCodeAt(0).toString(16).padStart(2, '0')}`
  )
  const result = MARK + escaped.join('')
  return result.length <= TOOL_NAME_MAX && result !== MARK ? result : null
}

export function fromWireToolName(name: string): string {
  if (!name.startsWith(MARK)) return name
  const escaped = name.slice(MARK.length)
  if (!ESCAPED.test(escaped)) return name
  const bytes = escaped.replaceAll(/-(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  const text = Buffer.from(bytes, 'latin1').toString()
  return toWireToolName(text) === name ? text : name // What was not escaped here stands for itself.
}

/** Ids of calls tie results to them within one request: those of other formats that break the rule become hashes. */
export function toWireCallId(id: string): string {
  return CALL_ID.test(id) ? id : `weir-${hash('sha256', id).slice(0, 40)}`
}

const DOCUMENT_NAME_MAX = 200

/**
 * Names of the documents of a request: letters, digits, single spaces, hyphens, parentheses and square brackets
 * (DocumentBlock of the API reference), each once. They are for the model to read and never come back as names.
 */
export class DocumentNames {
  readonly #uses = new Map<string, number>()

  next(name: string | null): string {
    const clean = (name ?? '')
      .slice(0, DOCUMENT_NAME_MAX * 2)
      .replaceAll(/[^\p{ASCII}]|[^a-zA-Z0-9\s\-()[\]]/gu, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim()
      .slice(0, DOCUMENT_NAME_MAX - 12)
    const base = clean === '' ? 'document' : clean
    let use = this.#uses.get(base) ?? 0
    let result = base
    do {
      use += 1
      result = use === 1 ? base : `${base} (${use})`
    } while (use > 1 && this.#uses.has(result))
    this.#uses.set(base, use)
    if (result !== base) this.#uses.set(result, 1)
    return result
  }
}
