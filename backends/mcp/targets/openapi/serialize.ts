/**
 * Values of parameters as text: style and explode (OpenAPI 3.1.1 section 4.8.12, appendix C; RFC 6570). What a model
 * wrote is data here: nothing of it becomes a separator, a further parameter, a path segment or a header line.
 */

import type { JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
export type Place = 'path' | 'query' | 'header' | 'cookie'
/** 'tabDelimited': of Swagger 2.0 alone. */
export type Style =
  | ('simple' | 'label' | 'matrix' | 'form' | 'deepObject')
  | ('spaceDelimited' | 'pipeDelimited' | 'tabDelimited')

export interface Form {
  readonly name: string
  readonly place: Place
  readonly style: Style
  readonly explode: boolean
  /** Query: the characters that have a meaning in URLs are sent as they are, where that cannot change the query. */
  readonly allowsReserved: boolean
  /** The value is sent as JSON text, whatever it is (`content` instead of `schema`). */
  readonly isJson: boolean
}

/** What arguments cannot be sent: told to who called, so that it may do better. Says nothing about the target. */
export class ArgumentError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ArgumentError'
  }
}

/** Percent-encoded, with everything that has a meaning in a URL. Lone surrogates become U+FFFD. */
export function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`
  )
}

/** One value as text. What is nested deeper than a style can say becomes JSON. */
function scalar(value: JsonValue): string {
  if (typeof value === 'string') return value
  return value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)

function pairs(value: JsonValue): [string, JsonValue][] {
  return Object.entries(value as Record<string, JsonValue>)
}

const isObject = (value: JsonValue): boolean => typeof value === 'object' && value !== null && !isList(value)

/** For a path: one segment or a part of one, never empty, never one that leads elsewhere. */
export function pathText(form: Form, value: JsonValue): string {
  refuseDots(form.name, value)
  const text = pathStyle(form, value)
  if (text === '') throw new ArgumentError(`path.${form.name}: it must not be empty`)
  return text
}

/** Some servers decode %2F before they resolve "..": neither is sent where it could be that. */
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
    return pairs(value)
      .map(([key, item]) => `;${pair(key, item)}`)
      .join('')
  return `;${name}=${joined(value, ',', false)}`
}

const pair = (key: string, item: JsonValue): string => `${encoded(key)}=${encoded(scalar(item))}`

/** Everything of one value, with separators that are none of it. */
function joined(value: JsonValue, separator: string, explode: boolean, encode = encoded): string {
  if (isList(value)) return value.map((item) => encode(scalar(item))).join(separator)
  if (!isObject(value)) return encode(scalar(value))
  return pairs(value)
    .map(([key, item]) => `${encode(key)}${explode ? '=' : separator}${encode(scalar(item))}`)
    .join(separator)
}

const SEPARATORS = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C', tabDelimited: '%09' } as const

/** For a query or a form: "a=1" parts, to be joined by "&". */
export function queryParts(form: Form, value: JsonValue): string[] {
  const { style, explode, isJson } = form
  const name = encoded(form.name)
  const encode = form.allowsReserved ? reserved : encoded
  if (isJson) return [`${name}=${encoded(JSON.stringify(value))}`]
  if (style === 'deepObject' && typeof value === 'object' && value !== null) return deep(name, value)
  if (isList(value) && explode) return value.map((item) => `${name}=${encode(scalar(item))}`)
  if (isObject(value) && explode) return pairs(value).map(([key, item]) => `${encoded(key)}=${encode(scalar(item))}`)
  const separator = SEPARATORS[style as keyof typeof SEPARATORS] ?? ','
  return [`${name}=${joined(value, separator, false, encode)}`]
}

/**
 * `filter[a][b]=1`, `list[]=1`, and with numbers where entries have parts of their own: `list[0][a]=1`. What is nested
 * is undefined in OpenAPI; PHP, Rails, qs and Stripe read it so.
 */
function deep(name: string, value: JsonValue): string[] {
  if (isList(value)) {
    const isFlat = value.every((item) => typeof item !== 'object' || item === null)
    return value.flatMap((item, i) => deep(`${name}%5B${isFlat ? '' : i}%5D`, item))
  }
  if (!isObject(value)) return [`${name}=${encoded(scalar(value))}`]
  return pairs(value).flatMap(([key, item]) => deep(`${name}%5B${encoded(key)}%5D`, item))
}

/** Encoded but for RFC 3986's reserved characters that neither end a query nor separate its parts. */
function reserved(text: string): string {
  return encoded(text).replace(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/g, (code) => decodeURIComponent(code))
}

/** For a header: visible ASCII, blanks and tabs, so that one value is one line. */
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
