/**
 * What nobody knows of a request, wherever it stands beside what is known (reach.ts): a provider may read it, so every
 * string counts but ids, credentials, places and words of the APIs.
 */
import { type Holder, isObject, put, type Slot } from './texts.ts'

/** Paths of fields that every provider takes for what they are: ids, credentials, names looked at elsewhere. */
const KNOWN: ReadonlySet<string> = new Set(
  `model user safety_identifier prompt_cache_key previous_response_id conversation service_tier mcp_servers
  tool_choice function_call container session_id cachedContent cached_content guardrailConfig safetySettings
  safety_settings toolConfig.toolChoice toolConfig.functionCallingConfig
  tool_config.function_calling_config`.split(/\s+/)
)
/** Ends of names: of ids, credentials, places, words of the APIs and payloads. */
const ENDS = 'id|ids|key|token|secret|password|url|uri|type|role|model|format|mode|voice|data|bytes|b64_json|signature'
const HUMPS = 'Id|Ids|Key|Token|Secret|Url|Uri|Arn|Type|Format|Mode'
const WORDS = new RegExp(`(?:^|_)(?:${ENDS})$|[a-z](?:${HUMPS})$|^(?:authorization|headers|cache_control|cachePoint)$`)

/** `paths`: of what is looked at already. RangeError when it is too deep. */
export function unknownTexts(body: object, paths: readonly string[], role: string): Slot[] {
  const slots: Slot[] = []
  const walk = (holder: Holder, ahead: string): void => {
    for (const name of Object.keys(holder)) {
      const path = ahead + name
      if (paths.includes(path) || KNOWN.has(path)) continue
      const value = holder[name]
      if (isObject(value) && paths.some((other) => other.startsWith(`${path}.`))) walk(value, `${path}.`)
      else gather(holder, name, name, path, { slots, role })
    }
  }
  walk(body as Holder, '')
  return slots
}

/** `field`: the name of the field in which the value stands, also as an item of a list. */
function gather(
  holder: Holder,
  key: string,
  field: string,
  path: string,
  found: { slots: Slot[]; role: string }
): void {
  const value = holder[key]
  if (WORDS.test(field) || value === null || value === '') return
  if (typeof value === 'string') {
    const set = (text: string): void => put(holder, key, text)
    found.slots.push({ role: found.role, isJson: false, text: value, path, run: null, set })
  } else if (typeof value === 'object') {
    const isList = Array.isArray(value)
    for (const name of Object.keys(value)) {
      gather(value as Holder, name, isList ? field : name, `${path}.${name}`, found)
    }
  }
}

/** Fields that may have the numbers of tokens in place of their texts. */
const TOKEN_FIELDS = ['input', 'prompt'] as const

/** The field in which the tokens of a text stand, which nobody here can read; null: there is none. */
export function tokensIn(body: object): string | null {
  const holder = body as Holder
  const isToken = (item: unknown): boolean => typeof item === 'number'
  const areTokens = (item: unknown): boolean => isToken(item) || (Array.isArray(item) && item.some(isToken))
  return TOKEN_FIELDS.find((name) => Array.isArray(holder[name]) && (holder[name] as unknown[]).some(areTokens)) ?? null
}
