/** A configuration as it was read: what has a name or policies of its own, each with its place, walked once. */
import type { BackendConfig, JudgedBackend } from '#engine/contract/backend-config.ts'
import type { TransportCapabilities } from '#engine/contract/transport-capabilities.ts'
import type { Path, Placed } from '#engine/schema/placed.ts'
import type { KindShortcut } from './kinds.ts'

/** A mistake or a doubt; the source knows where `path` stands. */
export interface Finding {
  readonly path: Path
  readonly message: string
  /** Which end of "key: value" it is about. */
  readonly at: 'key' | 'value'
  /** What is allowed, or what was probably meant. */
  readonly hint?: string | undefined
}

export type Report = (path: Path, message: string, at?: Finding['at'], hint?: string) => void

/** What a source is called in messages, and how it names a place that is not the one a finding is about. */
export interface SourceWords {
  /** What a configuration is: "file". */
  readonly noun: string
  /** Where backends and policies for all stand: "at the top of the file". */
  readonly top: string
  /** "line 3". */
  readonly placeOf: (path: Path) => string
}

export interface ConfigTree {
  readonly words: SourceWords
  readonly top: Placed
  readonly binds: readonly PlacedBind[]
  /** Those with a name. */
  readonly backends: readonly PlacedBackend[]
  readonly shortcuts: readonly PlacedShortcut[]
}

export interface PlacedBind extends Placed {
  readonly transport: TransportCapabilities
  readonly listeners: readonly PlacedListener[]
  /** What it stands for; null: it is written out. */
  readonly shortcut: KindShortcut | null
}

export interface PlacedListener extends Placed {
  /** As given, or the default. */
  readonly name: string
  /** The only route of a shortcut has no place of its own. */
  readonly routes: readonly PlacedRoute[]
}

export interface PlacedRoute extends Placed {
  readonly name: string
  readonly references: readonly PlacedReference[]
}

export type PlacedBackend = JudgedBackend

export interface PlacedReference extends Placed {
  /** Itself when it is written in place; undefined: there is no backend of that name. */
  readonly backend: PlacedBackend | undefined
}

export interface PlacedShortcut {
  readonly shortcut: KindShortcut
  readonly value: Placed
}

export function listenersOf({ binds }: ConfigTree): PlacedListener[] {
  return binds.flatMap(({ listeners }) => listeners)
}

/** With those of shortcuts. */
export function routesOf(tree: ConfigTree): PlacedRoute[] {
  return listenersOf(tree).flatMap(({ routes }) => routes)
}

/** Every backend that is described: by its name, or in the place where it is used. */
export function backendsOf(tree: ConfigTree): PlacedBackend[] {
  const references = routesOf(tree).flatMap((route) => route.references)
  return [...tree.backends, ...references.flatMap((one) => (isInPlace(one) ? one.backend! : []))]
}

export const isInPlace = ({ raw, backend }: PlacedReference): boolean => backend?.raw === raw

/** Values of one kind: of its backends, or of its shortcut. */
export function valuesOf(tree: ConfigTree, config: BackendConfig): Placed[] {
  return [
    ...backendsOf(tree).flatMap((one) => (one.config === config ? one.value : [])),
    ...tree.shortcuts.flatMap(({ shortcut, value }) => (shortcut.config === config ? value : []))
  ]
}
