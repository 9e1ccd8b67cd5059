/** The places of a file that have a name of their own: binds, listeners, routes. */

import { entriesOf, objectOf, type Path, type Placed, type Raw, text } from '#engine/schema/placed.ts'
import { LLM_PORT } from './llm/port.ts'
import { MCP_PORT } from './mcp/port.ts'

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
