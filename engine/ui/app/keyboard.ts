/** Keys that work on every page: g and a letter goes to a page, / to the search field, ? shows all of them. */

export type Action =
  | { readonly kind: 'go'; readonly key: string }
  | { readonly kind: 'search' | 'help' | 'close' | 'pause' }

export interface Pressed {
  readonly key: string
  readonly isTyping: boolean
  readonly hasModifier: boolean
}

/** A "g" waits this long for its letter. */
export const CHORD_MS = 1200

export interface KeyState {
  /** When "g" was pressed, in milliseconds; null: it was not. */
  readonly chordAt: number | null
}

export const NO_CHORD: KeyState = { chordAt: null }

export function press(
  { chordAt }: KeyState,
  { key, isTyping, hasModifier }: Pressed,
  now: number
): { readonly state: KeyState; readonly action: Action | null } {
  const done = (action: Action | null) => ({ state: NO_CHORD, action })
  // Escape leaves a field, too.
  if (key === 'Escape') return done({ kind: 'close' })
  if (isTyping || hasModifier) return done(null)
  if (chordAt !== null && now - chordAt <= CHORD_MS) return done({ kind: 'go', key })
  if (key === 'g') return { state: { chordAt: now }, action: null }
  if (key === '/') return done({ kind: 'search' })
  if (key === '?') return done({ kind: 'help' })
  if (key === 'p') return done({ kind: 'pause' })
  return done(null)
}
