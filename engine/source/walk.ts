/** The places of a configuration: what it has as it was read, in spite of mistakes, walked once for all checks. */
import { capabilitiesOf } from '#engine/downstream/transports.ts'
import { entriesOf, objectOf, type Placed, type Raw, text } from '#engine/schema/placed.ts'
import type { KindShortcut, Kinds } from './kinds.ts'
import type {
  ConfigTree,
  PlacedBackend,
  PlacedBind,
  PlacedListener,
  PlacedReference,
  PlacedRoute,
  SourceWords
} from './tree.ts'

/** Default names count listeners over the whole configuration, so that two binds never have the same. */
export const defaultListenerName = (index: number): string => `listener${index}`
export const defaultRouteName = (indexInListener: number): string => `route${indexInListener}`

export function treeOf(config: Raw, kinds: Kinds, words: SourceWords): ConfigTree {
  const backends = entriesOf(config.backends, ['backends']).map((backend) => backendAt(backend, kinds))
  const named = new Map(backends.map((backend) => [backend.raw.name, backend]))
  const referenceAt = (place: Placed): PlacedReference => ({
    ...place,
    backend: place.raw.backend === undefined ? backendAt(place, kinds) : named.get(place.raw.backend)
  })
  let listeners = 0
  const binds = entriesOf(config.binds, ['binds']).map((bind) => ({
    ...bind,
    transport: capabilitiesOf(bind.raw.transport),
    shortcut: null,
    listeners: entriesOf(bind.raw.listeners, [...bind.path, 'listeners']).map((listener) =>
      listenerAt(listener, defaultListenerName(listeners++), referenceAt)
    )
  }))
  const present = kinds.shortcuts.filter(({ key }) => config[key] !== undefined)
  const shortcuts = present.map((shortcut) => ({
    shortcut,
    value: { raw: objectOf(config[shortcut.key]), path: [shortcut.key] }
  }))
  return {
    words,
    top: { raw: config, path: [] },
    binds: [...binds, ...shortcuts.map(({ shortcut, value }) => shortcutBind(shortcut, value))],
    backends,
    shortcuts
  }
}

function backendAt({ raw, path }: Placed, kinds: Kinds): PlacedBackend {
  const name = kinds.keyOf(raw)?.name
  const value = name === undefined ? { raw: {}, path } : { raw: objectOf(raw[name]), path: [...path, name] }
  const config = kinds.configOf(raw)
  return { raw, path, config, isPlain: config?.isPlain === true, value }
}

function listenerAt(
  listener: Placed,
  unnamed: string,
  referenceAt: (place: Placed) => PlacedReference
): PlacedListener {
  const routes = entriesOf(listener.raw.routes, [...listener.path, 'routes']).map((route, i): PlacedRoute => {
    const references = entriesOf(route.raw.backends, [...route.path, 'backends']).map(referenceAt)
    return { ...route, name: text(route.raw.name) ?? defaultRouteName(i), references }
  })
  return { ...listener, name: text(listener.raw.name) ?? unnamed, routes }
}

/** What a shortcut stands for: a bind with one listener, which has its policies, and one route. */
function shortcutBind(shortcut: KindShortcut, { raw, path }: Placed): PlacedBind {
  const { policies, paths, headersWithUnderscores } = raw
  const route = { raw: {}, path, name: shortcut.key, references: [] }
  const listener = { raw: { policies, paths, headersWithUnderscores }, path, name: shortcut.key, routes: [route] }
  const transport = capabilitiesOf(undefined)
  return { raw: { port: raw.port ?? shortcut.port }, path, transport, shortcut, listeners: [listener] }
}
