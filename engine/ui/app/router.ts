/** Where the page is: paths below /ui/, and the query, which is its state, so that every view can be linked to. */
import { signal } from '@preact/signals'

export const BASE = '/ui/'

export interface Place {
  /** Parts of the path below BASE, decoded: ["keys", "bot"]. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

export function placeOf(url: string): Place {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  const below = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : ''
  return {
    parts: below
      .split('/')
      .filter((part) => part !== '')
      .map(decoded),
    query: searchParams
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** A link; parameters without a value are left out. */
export function hrefOf(
  parts: readonly string[],
  query: Readonly<Record<string, string | null | undefined>> = {}
): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value) params.set(name, value)
  const text = params.toString()
  return BASE + parts.map(encodeURIComponent).join('/') + (text === '' ? '' : `?${text}`)
}

const here = () => (typeof location === 'undefined' ? BASE : location.pathname + location.search)

export const place = signal<Place>(placeOf(here()))

export function navigate(href: string): void {
  if (href !== here()) history.pushState(null, '', href)
  place.value = placeOf(href)
}

/** Changes parameters of the query; null takes one away. History keeps what was before only if `isStep`. */
export function setQuery(changes: Readonly<Record<string, string | null>>, isStep = false): void {
  const query = new URLSearchParams(place.peek().query)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') query.delete(name)
    else query.set(name, value)
  }
  const text = query.toString()
  const href = location.pathname + (text === '' ? '' : `?${text}`)
  if (href === here()) return
  history[isStep ? 'pushState' : 'replaceState'](null, '', href)
  place.value = placeOf(href)
}

/** Links of this application change the place without loading it anew. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    place.value = placeOf(here())
  })
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (link === null || event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    if (link.target !== '' || link.hasAttribute('download')) return
    if (link.origin !== location.origin || !link.pathname.startsWith(BASE) || link.hash !== '') return
    event.preventDefault()
    navigate(link.pathname + link.search)
  })
}
