/** The styles that each place allows, and the defaults (OpenAPI 3.1.1 section 4.8.12). */

import type { Form, Place, Style } from './serialize.ts'
export const PLACES: readonly Place[] = ['path', 'query', 'header', 'cookie']

export const STYLES: Readonly<Record<Place, readonly Style[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'tabDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form']
}

export function plainForm(name: string, place: Place): Form {
  const style = place === 'query' || place === 'cookie' ? 'form' : 'simple'
  return { name, place, style, explode: style === 'form', allowsReserved: false, isJson: false }
}
