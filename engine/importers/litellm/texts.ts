/** Texts of LiteLLM's file as weir's file has them. Source: "Config.yaml" and "All settings" of LiteLLM's docs. */
import { objectOf, type Raw } from '#engine/schema/placed.ts'

const FROM_ENVIRONMENT = /^os\.environ\/([A-Za-z_][A-Za-z0-9_]*)$/
/** LiteLLM itself does not read these; what makes its file (a shell, a chart) does. */
const REFERENCE = /^\$(?:\{[A-Za-z_][A-Za-z0-9_]*(?::-[^{}"'\n$\\]*)?\}|[A-Za-z_][A-Za-z0-9_]*)$/
const NAMES_MAX = 10

/** `environment`: what the file itself says of variables (environment_variables). */
export function textOf(value: unknown, environment: Raw = {}, depth = 0): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value !== 'string' || value === '') return undefined
  const [, name] = FROM_ENVIRONMENT.exec(value) ?? []
  if (name !== undefined) {
    const known = Object.hasOwn(environment, name) && depth < NAMES_MAX
    return (known ? textOf(environment[name], environment, depth + 1) : undefined) ?? `$${name}`
  }
  return REFERENCE.test(value) ? value : literal(value)
}

/** A dollar sign means a variable in weir's file. */
const literal = (text: string): string => text.replaceAll('$', '$$$$')

/** The same for everything inside of a value; "os.environ/NAME" is found at any depth. */
export function carriedValue(value: unknown, environment: Raw): unknown {
  if (typeof value === 'string') return textOf(value, environment) ?? value
  if (Array.isArray(value)) return value.map((inner) => carriedValue(inner, environment))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(objectOf(value)).map(([key, inner]) => [key, carriedValue(inner, environment)])
  )
}

export function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== ''
}
