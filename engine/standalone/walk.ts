/**
 * A file as it was read, before and in spite of validation: mistakes that take two places to see are
 * reported in the same run as those that a schema sees, so what is looked at here may be anything.
 */
import { LLM_PORT } from './llm/port.ts'
import { MCP_PORT } from './mcp/port.ts'
import type { Path } from './problems.ts'

export type Raw = Record<string, unknown>

export interface Placed {
  readonly raw: Raw
  readonly path: Path
}

export interface PlacedBind extends Placed {
  readonly listeners: readonly PlacedListener[]
}

export interface PlacedListener extends Placed {
  /** As given, or the default. */
  readonly name: string
  readonly routes: readonly PlacedRoute[]
}

export interface PlacedRoute extends Placed {
  readonly name: string
}

/** The value as an object; anything else is an empty one. */
export function objectOf(value: unknown): Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Raw) : {}
}

/** The entries of a list that are objects, with their paths; anything else is an empty list. */
export function entriesOf(value: unknown, path: Path): Placed[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((entry: unknown, i) =>
    typeof entry === 'object' && entry !== null ? [{ raw: entry as Raw, path: [...path, i] }] : []
  )
}

/** Default names count listeners over the whole file, so that two binds never have the same. */
export const defaultListenerName = (indexInFile: number): string => `listener${indexInFile}`
export const defaultRouteName = (indexInListener: number): string => `route${indexInListener}`

export function bindsOf(file: Raw): PlacedBind[] {
  let listeners = 0
  const binds = entriesOf(file.binds, ['binds']).map((bind) => ({
    ...bind,
    listeners: entriesOf(bind.raw.listeners, [...bind.path, 'listeners']).map((listener) => {
      const unnamed = defaultListenerName(listeners++)
      return {
        ...listener,
        name: text(listener.raw.name) ?? unnamed,
        routes: entriesOf(listener.raw.routes, [...listener.path, 'routes']).map((route, i) => ({
          ...route,
          name: text(route.raw.name) ?? defaultRouteName(i)
        }))
      }
    })
  }))
  const shortcuts = SHORTCUTS.flatMap(([key, port]) => {
    return file[key] === undefined ? [] : [shortcutBindOf(key, objectOf(file[key]), port)]
  })
  return [...binds, ...shortcuts]
}

const SHORTCUTS = [
  ['llm', LLM_PORT],
  ['mcp', MCP_PORT]
] as const

/** Whether the path is inside a key at the top of the file that stands for a bind. */
export function isInShortcut([key]: Path): boolean {
  return SHORTCUTS.some(([name]) => name === key)
}

/** What `llm` and `mcp` stand for: a bind with one listener, which has its policies, and one route. */
function shortcutBindOf(key: string, raw: Raw, port: number): PlacedBind {
  const path = [key]
  const { policies, paths, headersWithUnderscores } = raw
  const route = { raw: {}, path, name: key }
  return {
    raw: { port: raw.port ?? port },
    path,
    listeners: [{ raw: { policies, paths, headersWithUnderscores }, path, name: key, routes: [route] }]
  }
}

/** The sets of policies of a place: one, or a list of them. */
export function policySetsOf({ raw, path }: Placed): Placed[] {
  const at = [...path, 'policies']
  return Array.isArray(raw.policies) ? entriesOf(raw.policies, at) : [{ raw: objectOf(raw.policies), path: at }]
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
