/**
 * Forms with files (multipart/form-data, RFC 7578; delimiters of RFC 2046, section 5.1): the places of the parts in
 * the body as it came. Nothing is copied until a field is replaced, and then the files' bytes are once.
 *
 * What servers read differently is refused, so that no provider finds another model or prompt than was looked at here:
 * text before the first delimiter or behind the last, lines that only begin with the delimiter, lines that end with LF
 * alone, folded header fields, other transfer encodings, names that could be decoded (docs/design/049-forms.md).
 */
import { FormatError } from '#backends/llm/formats/format.ts'
import { allocShared, SHARED_BYTES } from '#engine/kit/shared-bytes.ts'

/** OpenAI's clients send up to 16 pictures, and a dozen fields beside them. */
export const PARTS_MAX = 128
/** Of one part. Three fields, of which one has the name of a file. */
export const HEADER_BYTES_MAX = 4096
/** RFC 2046, section 5.1.1. */
const BOUNDARY_CHARS_MAX = 70
/** Of a field that is read as text. */
const TEXT_BYTES_MAX = 1024 * 1024

/** A part, as places in the body. */
export interface FormPart {
  readonly name: string
  /** Null: it is a field. */
  readonly filename: string | null
  readonly contentType: string | null
  /** Of the value. */
  readonly start: number
  readonly end: number
}

export interface Form {
  readonly bytes: Buffer
  readonly boundary: string
  readonly parts: readonly FormPart[]
}

const FORM = /^multipart\/form-data[ \t]*(?:;|$)/i

export const isForm = (contentType: string): boolean => FORM.test(contentType)

/** Forms that were read early, to find the backend for their model. */
const read = new WeakMap<Buffer, Form>()

/** What is wrong with a form, in the same words however it is read. */
export const FORM_FAULTS = {
  first: 'the body must begin with the boundary of the form that Content-Type says',
  parts: `the form has more than ${PARTS_MAX} parts`,
  header: `has no header, or one of more than ${HEADER_BYTES_MAX} bytes`,
  unended: 'has no end: the boundary does not follow in a line of its own',
  behind: 'is followed by more than the end of the form',
  line: 'has a line that begins with the boundary and goes on'
}

/** As readForm; the result is kept as long as `bytes` are. */
export function formAhead(bytes: Buffer, contentType: string): Form {
  const form = readForm(bytes, contentType)
  read.set(bytes, form)
  return form
}

/** Throws FormatError. `contentType`: of the request. */
export function readForm(bytes: Buffer, contentType: string): Form {
  const known = read.get(bytes)
  if (known !== undefined) return known
  const boundary = boundaryOf(contentType)
  const first = `--${boundary}\r\n`
  if (bytes.toString('latin1', 0, first.length) !== first) throw new FormatError('', FORM_FAULTS.first)
  // Line by line from here on: the line end before a delimiter is its own.
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  const parts: FormPart[] = []
  for (let at = first.length; ; ) {
    if (parts.length === PARTS_MAX) throw new FormatError('', FORM_FAULTS.parts)
    const place = `part ${parts.length + 1}`
    const start = endOfHeader(bytes, at, place)
    const header = headerOf(bytes.toString('latin1', at, start - 2), place)
    // The empty line may be taken for the line end of a delimiter: some servers do.
    const end = bytes.indexOf(delimiter, start - 2)
    if (end < start) throw new FormatError(place, FORM_FAULTS.unended)
    parts.push({ ...header, start, end })
    at = end + delimiter.length
    const tail = bytes.toString('latin1', at, at + 2)
    if (tail === '--') {
      const rest = bytes.toString('latin1', at + 2, at + 5)
      if (rest !== '' && rest !== '\r\n') throw new FormatError(place, FORM_FAULTS.behind)
      return { bytes, boundary, parts }
    }
    if (tail !== '\r\n') throw new FormatError(place, FORM_FAULTS.line)
    at += 2
  }
}

const PARAMETER = /;[ \t]*([A-Za-z0-9!#$&+.^_`|~*-]+)=(?:"((?:[^"\\\r\n]|\\[\t -~])*)"|([^;"\s\\]+))[ \t]*/y
/** bchars of RFC 2046, no space at the end. */
const BOUNDARY = /^[A-Za-z0-9'()+_,./:=? -]*[A-Za-z0-9'()+_,./:=?-]$/

/** Of the Content-Type of a form. Throws FormatError. */
export function boundaryOf(contentType: string): string {
  const found = parametersOf(contentType, 'Content-Type').get('boundary')
  if (found === undefined || found.length > BOUNDARY_CHARS_MAX || !BOUNDARY.test(found)) {
    throw new FormatError('', `Content-Type must have a boundary of up to ${BOUNDARY_CHARS_MAX} characters (RFC 2046)`)
  }
  return found
}

/** By their names in lower case. Throws FormatError. */
function parametersOf(value: string, place: string): Map<string, string> {
  const parameters = new Map<string, string>()
  const end = value.trimEnd().length
  let at = value.indexOf(';')
  while (at >= 0 && at < end) {
    PARAMETER.lastIndex = at
    const found = PARAMETER.exec(value)
    const name = found?.[1]?.toLowerCase()
    if (found === null || parameters.has(name!)) throw new FormatError(place, 'has parameters that cannot be read')
    parameters.set(name!, found[2] ?? found[3]!)
    at = PARAMETER.lastIndex
  }
  return parameters
}

const EMPTY_LINE = Buffer.from('\r\n\r\n')

/** Where the value begins. Throws FormatError. */
function endOfHeader(bytes: Buffer, at: number, place: string): number {
  const end = bytes.subarray(at, at + HEADER_BYTES_MAX).indexOf(EMPTY_LINE)
  if (end < 0) throw new FormatError(place, FORM_FAULTS.header)
  return at + end + EMPTY_LINE.length
}

const FIELD = /^([A-Za-z0-9-]+):[ \t]*(.*)$/
/** Names are those of API fields. What a server could decode (%, backslash) says something else to another. */
const NAME = /^[A-Za-z0-9_.[\]-]{1,64}$/
const PLAIN_ENCODING = /^(?:7bit|8bit|binary)$/i

export type PartHeader = Pick<FormPart, 'name' | 'filename' | 'contentType'>

/** `header`: its lines, each with its end. Throws FormatError. */
export function headerOf(header: string, place: string): PartHeader {
  const fields = new Map<string, string>()
  for (const line of header.slice(0, -2).split('\r\n')) {
    const [, name, value] = FIELD.exec(line) ?? []
    const key = name?.toLowerCase()
    if (key === undefined || fields.has(key) || hasControls(value!))
      throw new FormatError(place, 'has a header that cannot be read')
    fields.set(key, value!.trimEnd())
  }
  if (!PLAIN_ENCODING.test(fields.get('content-transfer-encoding') ?? 'binary'))
    throw new FormatError(place, 'has a transfer encoding: RFC 7578 has none')
  const disposition = fields.get('content-disposition') ?? ''
  if (!/^form-data[ \t]*;/i.test(disposition))
    throw new FormatError(place, 'must have a Content-Disposition: form-data')
  const parameters = parametersOf(disposition, place)
  const name = parameters.get('name') ?? ''
  // _charset_ says how the others are read (RFC 7578, section 4.6).
  if (!NAME.test(name) || name === '_charset_' || parameters.has('name*'))
    throw new FormatError(place, 'must have a name of letters, digits and _.[]-')
  const filename = parameters.get('filename') ?? parameters.get('filename*') ?? null
  return { name, filename, contentType: fields.get('content-type') ?? null }
}

function hasControls(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if ((code < 0x20 && code !== 0x09) || code === 0x7f) return true
  }
  return false
}

const CHARSET = /charset=(?!"?utf-8\b)/i
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of a field; null: there is none of that name. Throws FormatError: it is there twice, or is no text. */
export function singleText(form: Form, name: string): string | null {
  const parts = form.parts.filter((part) => part.name === name)
  if (parts.length > 1) throw new FormatError(name, 'is in the form more than once')
  return parts.length === 0 ? null : textOf(form, parts[0]!)
}

/** Throws FormatError. */
export function textOf({ bytes }: Form, { name, filename, contentType, start, end }: FormPart): string {
  if (filename !== null) throw new FormatError(name, 'must be a field, not a file')
  if (CHARSET.test(contentType ?? '')) throw new FormatError(name, 'must be UTF-8')
  if (end - start > TEXT_BYTES_MAX) throw new FormatError(name, `has more than ${TEXT_BYTES_MAX} bytes`)
  try {
    return utf8.decode(bytes.subarray(start, end))
  } catch {
    throw new FormatError(name, 'must be UTF-8')
  }
}

/** The body with these fields: each instead of the one of its name, or ahead of all. Null: there is none of it. */
export function withFields(form: Form, fields: ReadonlyMap<string, string | null>): Buffer {
  const { bytes, boundary, parts } = form
  const missing = [...fields].filter(([name, value]) => value !== null && !parts.some((part) => part.name === name))
  const pieces: Buffer[] = missing.map(([name, value]) =>
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
  )
  let from = 0
  parts.forEach(({ name, start, end }, i) => {
    const value = fields.get(name)
    if (value === undefined) return
    // A part begins behind the one before it, with the delimiter that is its own.
    const begin = i === 0 ? 0 : parts[i - 1]!.end + 2
    pieces.push(bytes.subarray(from, value === null ? begin : start))
    if (value !== null) pieces.push(Buffer.from(value))
    from = value === null ? end + 2 : end
  })
  pieces.push(bytes.subarray(from))
  return joined(pieces)
}

/** As other threads can have it, where it is long. */
function joined(pieces: readonly Buffer[]): Buffer {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const whole = length > SHARED_BYTES ? allocShared(length) : Buffer.allocUnsafe(length)
  let at = 0
  for (const piece of pieces) at += piece.copy(whole, at)
  return whole
}
