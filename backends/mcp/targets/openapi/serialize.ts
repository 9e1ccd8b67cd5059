/**
 * Serializes parameters: style and explode (OpenAPI 3.1.1 section 4.8.12, appendix C; RFC 6570). Values of a model are
 * data: no part of them becomes a separator, another parameter, a path segment or a header line.
 */

import { isObject, type JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
export type Place = 'path' | 'query' | 'header' | 'cookie'
/** 'tabDelimited': Swagger 2.0 only. */
export type Style =
  | ('simple' | 'label' | 'matrix' | 'form' | 'deepObject')
  | ('spaceDelimited' | 'pipeDelimited' | 'tabDelimited')

export interface Form {
  readonly name: string
  readonly place: Place
  readonly style: Style
  readonly explode: boolean
  /** Query: reserved characters are not escaped, unless that would change the structure of the query. */
  readonly allowsReserved: boolean
  /** The value is sent as JSON text (`content` instead of `schema`). */
  readonly isJson: boolean
}

/**
 * Arguments that cannot be sent. The message is for the caller, so that it can correct them; it reveals nothing of the
 * target.
 */
export class ArgumentError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ArgumentError'
  }
}

/** Percent-encodes all reserved characters of URLs. Lone surrogates become U+FFFD. */
export function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`
  )
}

/** One value as text. Values nested deeper than the style allows become JSON. */
function scalar(value: JsonValue): string {
  if (typeof value === 'string') return value
  return value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)

/** For a path: one segment or a part of one, never empty, never a dot segment. */
export function pathText(form: Form, value: JsonValue): string {
  refuseDots(form.name, value)
  const text = pathStyle(form, value)
  if (text === '') throw new ArgumentError(`path.${form.name}: it must not be empty`)
  return text
}

/** Some servers decode %2F before they resolve "..", so both are refused wherever they could be combined. */
function refuseDots(name: string, value: JsonValue): void {
  if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      refuseDots(name, key)
      refuseDots(name, item as JsonValue)
    }
  } else if (typeof value === 'string' && /(?:^|[/\\])\.{1,2}(?:$|[/\\;])/.test(value)) {
    throw new ArgumentError(`path.${name}: "." and ".." cannot be sent as parts of a path`)
  }
}

function pathStyle(form: Form, value: JsonValue): string {
  const { style, explode, isJson } = form
  if (isJson) return encoded(JSON.stringify(value))
  const name = encoded(form.name)
  if (style === 'label') return `.${joined(value, explode ? '.' : ',', explode)}`
  if (style !== 'matrix') return joined(value, ',', explode)
  if (explode && isList(value)) return value.map((item) => `;${name}=${encoded(scalar(item))}`).join('')
  if (explode && isObject(value))
    return Object.entries(value)
      .map(([key, item]) => `;${pair(key, item)}`)
      .join('')
  return `;${name}=${joined(value, ',', false)}`
}

const pair = (key: string, item: JsonValue): string => `${encoded(key)}=${encoded(scalar(item))}`

/** A list or an object with separators, which its values cannot contain. */
function joined(value: JsonValue, separator: string, explode: boolean, encode = encoded): string {
  if (isList(value)) return value.map((item) => encode(scalar(item))).join(separator)
  if (!isObject(value)) return encode(scalar(value))
  return Object.entries(value)
    .map(([key, item]) => `${encode(key)}${explode ? '=' : separator}${encode(scalar(item))}`)
    .join(separator)
}

const SEPARATORS = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C', tabDelimited: '%09' } as const

/** For a query or a form: "a=1" parts, to be joined with "&". */
export function queryParts(form: Form, value: JsonValue): string[] {
  const { style, explode, isJson } = form
  const name = encoded(form.name)
  const encode = form.allowsReserved ? reserved : encoded
  if (isJson) return [`${name}=${encoded(JSON.stringify(value))}`]
  if (style === 'deepObject' && typeof value === 'object' && value !== null) return deep(name, value)
  if (isList(value) && explode) return value.map((item) => `${name}=${encode(scalar(item))}`)
  if (isObject(value) && explode)
    return Object.entries(value).map(([key, item]) => `${encoded(key)}=${encode(scalar(item))}`)
  const separator = SEPARATORS[style as keyof typeof SEPARATORS] ?? ','
  return [`${name}=${joined(value, separator, false, encode)}`]
}

/**
 * `filter[a][b]=1`, `list[]=1`; with indices where entries have members of their own: `list[0][a]=1`. OpenAPI leaves
 * nested values undefined; this is how PHP, Rails, qs and Stripe read them.
 */
function deep(name: string, value: JsonValue): string[] {
  if (isList(value)) {
    const isFlat = value.every((item) => typeof item !== 'object' || item === null)
    return value.flatMap((item, i) => deep(`${name}%5B${isFlat ? '' : i}%5D`, item))
  }
  if (!isObject(value)) return [`${name}=${encoded(scalar(value))}`]
  return Object.entries(value).flatMap(([key, item]) => deep(`${name}%5B${encoded(key)}%5D`, item))
}

/** Percent-encoded, except the reserved characters of RFC 3986 that neither end a query nor separate its parts. */
function reserved(text: string): string {
  return encoded(text).replace(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/g, (code) => decodeURIComponent(code))
}

/** For a header: visible ASCII, spaces and tabs, so a value cannot add a line. */
export function headerText(form: Form, value: JsonValue): string {
  const text = form.isJson ? JSON.stringify(value) : joined(value, ',', form.explode, (part) => part)
  if (!/^[\t\x20-\x7e]*$/.test(text)) {
    throw new ArgumentError(`header.${form.name}: only ASCII without control characters can be sent`)
  }
  return text.trim()
}

/** For the Cookie field: `a=1`, lists and objects with commas, all percent-encoded (RFC 6265 section 4.1.1). */
export function cookieText(form: Form, value: JsonValue): string {
  const text = form.isJson ? encoded(JSON.stringify(value)) : joined(value, '%2C', false)
  return `${encoded(form.name)}=${text}`
}
