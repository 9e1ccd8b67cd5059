/**
 * Unknown members of a request, anywhere beside the known ones: a provider may read them, so every string and every
 * long integer counts, except ids, credentials, locations and words of the APIs. Keys that are no words of an API are
 * names: they are searched, and cannot be changed.
 */
import { type Found, type Holder, isObject, isWord, put, type Slot } from './texts.ts'

/** Fields that every provider takes for what they are, as far as it is one word: ids, credentials, names of tools. */
const KNOWN: ReadonlySet<string> = new Set(
  `model user logit_bias safety_identifier prompt_cache_key previous_response_id conversation service_tier mcp_servers
  tool_choice function_call container session_id cachedContent cached_content guardrailConfig safetySettings
  safety_settings toolConfig.toolChoice toolConfig.functionCallingConfig
  tool_config.function_calling_config`.split(/\s+/)
)
/** Ends of names: of ids, credentials, places, words of the APIs and payloads. */
const ENDS =
  'seed|id|ids|key|token|secret|password|url|uri|type|role|model|format|mode|voice|data|bytes|b64_json|signature'
const HUMPS = 'Id|Ids|Key|Token|Secret|Url|Uri|Arn|Type|Format|Mode'
const WORDS = new RegExp(`(?:^|_)(?:${ENDS})$|[a-z](?:${HUMPS})$|^(?:authorization|headers|cache_control|cachePoint)$`)

/** Numbers with fewer digits are settings of a model: no person has a shorter one. */
const INTEGER_MIN = 1e8
/** What an API calls its fields. */
const API_NAME = /^(?!(?:.*[0-9]){6})[A-Za-z_$][\w$.-]*$/

/** `paths`: of what is looked at already. RangeError when it is too deep. */
export function unknownTexts(body: object, paths: readonly string[], role: string): Found & { names: string[] } {
  const found = { slots: [] as Slot[], names: [] as string[] }
  const walk = (holder: Holder, ahead: string): void => {
    for (const name of Object.keys(holder)) {
      const path = ahead + name
      const value = holder[name]
      if (paths.includes(path) || (KNOWN.has(path) && isWord(value))) continue
      if (isObject(value) && paths.some((other) => other.startsWith(`${path}.`))) walk(value, `${path}.`)
      else gather({ holder, key: name, field: name, path }, role, found)
    }
  }
  walk(body as Holder, '')
  return found
}

interface FieldValue {
  readonly holder: Holder
  readonly key: string
  /** The name of the field in which the value stands, also as an item of a list. */
  readonly field: string
  readonly path: string
}

function gather({ holder, key, field, path }: FieldValue, role: string, found: Found & { names: string[] }): void {
  const value = holder[key]
  if (key === field && !API_NAME.test(key)) found.names.push(key)
  if (value === null || value === '') return
  // What is in there is looked at by its own names, and anything but a word is text, whatever holds it.
  if (WORDS.test(field) && isWord(value)) return
  if (typeof value === 'string') {
    const set = (text: string): void => put(holder, key, text)
    found.slots.push({ role, isJson: false, text: value, path, run: null, set })
  } else if (typeof value === 'number') {
    if (!Number.isInteger(value) || value < INTEGER_MIN) return
    const set = (text: string): void => put(holder, key, JSON.parse(text))
    found.slots.push({ role, isJson: true, text: JSON.stringify(value), path, run: null, set })
  } else if (typeof value === 'object') {
    const isList = Array.isArray(value)
    for (const name of Object.keys(value)) {
      const at = { holder: value as Holder, key: name, field: isList ? field : name, path: `${path}.${name}` }
      gather(at, role, found)
    }
  }
}

/** Fields that may have the numbers of tokens in place of their texts. */
const TOKEN_FIELDS = ['input', 'prompt'] as const

/** The field in which the tokens of a text stand, which cannot be read here; null: none. */
export function tokensIn(body: object): string | null {
  const holder = body as Holder
  const isToken = (item: unknown): boolean => typeof item === 'number'
  const areTokens = (item: unknown): boolean => isToken(item) || (Array.isArray(item) && item.some(isToken))
  return TOKEN_FIELDS.find((name) => Array.isArray(holder[name]) && (holder[name] as unknown[]).some(areTokens)) ?? null
}
